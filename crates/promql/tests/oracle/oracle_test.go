// Answers of Prometheus' own engine, with what is on there by default, to the questions of a file.
package oracle

import (
	"bufio"
	"context"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/util/teststorage"
)

// A question: what is loaded, and what is asked of it, in milliseconds. A step of 0: at `Start` alone.
type question struct {
	Load       string `json:"load"`
	Expression string `json:"expression"`
	Start      int64  `json:"start"`
	End        int64  `json:"end"`
	Step       int64  `json:"step"`
}

type series struct {
	Labels map[string]string `json:"labels"`
	// Milliseconds, and the bits of the value.
	Points [][2]string `json:"points"`
}

type answer struct {
	Error  string   `json:"error"`
	Kind   string   `json:"kind"`
	Series []series `json:"series"`
	Text   string   `json:"text"`
}

func point(t int64, f float64) [2]string {
	return [2]string{strconv.FormatInt(t, 10), strconv.FormatUint(math.Float64bits(f), 10)}
}

func TestAnswers(t *testing.T) {
	in, err := os.Open(os.Getenv("ORACLE_QUESTIONS"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(os.Getenv("ORACLE_ANSWERS"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples:               50_000_000,
		Timeout:                  time.Minute,
		LookbackDelta:            5 * time.Minute,
		NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
	})
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	// Questions about the same series follow each other, and loading takes longer than answering.
	var stored *teststorage.TestStorage
	var loaded string
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			t.Fatal(err)
		}
		if stored == nil || loaded != asked.Load {
			if stored != nil {
				stored.Close()
			}
			stored, loaded = promqltest.LoadedStorage(t, asked.Load), asked.Load
		}
		text, err := json.Marshal(ask(engine, stored, asked))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(append(text, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	if stored != nil {
		stored.Close()
	}
}

func ask(engine *promql.Engine, stored *teststorage.TestStorage, asked question) answer {
	var query promql.Query
	var err error
	at := time.UnixMilli
	if asked.Step == 0 {
		query, err = engine.NewInstantQuery(context.Background(), stored, nil, asked.Expression, at(asked.Start))
	} else {
		step := time.Duration(asked.Step) * time.Millisecond
		query, err = engine.NewRangeQuery(context.Background(), stored, nil, asked.Expression, at(asked.Start), at(asked.End), step)
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	defer query.Close()
	found := query.Exec(context.Background())
	if found.Err != nil {
		return answer{Error: found.Err.Error()}
	}
	told := answer{Kind: string(found.Value.Type()), Series: []series{}}
	switch value := found.Value.(type) {
	case promql.Scalar:
		told.Series = []series{{Points: [][2]string{point(value.T, value.V)}}}
	case promql.String:
		told.Text = value.V
	case promql.Vector:
		for _, one := range value {
			told.Series = append(told.Series, series{one.Metric.Map(), [][2]string{point(one.T, one.F)}})
		}
	case promql.Matrix:
		for _, one := range value {
			points := [][2]string{}
			for _, p := range one.Floats {
				points = append(points, point(p.T, p.F))
			}
			told.Series = append(told.Series, series{one.Metric.Map(), points})
		}
	}
	return told
}
