//! Tests of what could be read in two ways, or be changed without a word: columns, rows behind a header that
//! is refused, blanks.

use super::*;

/// Read as series, numbers of sensors would leave one value of several at each time.
#[test]
fn a_column_that_may_tell_series_apart_refuses_its_rows() {
    for (header, name, value) in [
        ("time,sensor_id,value", "sensor_id", "value"),
        ("sensor_id;_value;ts", "sensor_id", "_value"),
        ("time,value,value_type", "value_type", "value"),
        (",time,temp,value:f64", "temp", "value:f64"),
    ] {
        let row = "1,17,1.5\n1,18,2.5\n".repeat(2);
        let found = plain(&format!("{header}\n{row}"));
        assert_eq!(found.len(), 5, "{found:?}");
        let said = format!(
            "header: expected to know what {name:?} is beside {value:?}, and no column of names"
        );
        assert!(found[0].contains(&said), "{found:?}");
        let ways = format!(
            "--columns {name}=label if it tells series apart, {name}=skip if it says nothing, {value}=values"
        );
        assert!(found[0].contains(&ways), "{found:?}");
        // Nor are the rows behind it those of another form.
        let refused = "column 1: the columns of this row are refused: line 1 says why";
        assert!(found[1..].iter().all(|one| one.ends_with(refused)), "{found:?}");
    }
    let text = "time,sensor_id,value\n1,17,1.5\n1,18,2.5\n";
    let said = |columns: &[(&str, Role)]| {
        let columns = columns.iter().map(|(name, role)| ((*name).to_owned(), *role)).collect();
        short(TextForm { columns, ..TextForm::default() }, text)
    };
    let label = said(&[("sensor_id", Role::Label)]);
    let expected = [
        "2 1 value{sensor_id=\"17\"} Float(1.5) None",
        "3 1 value{sensor_id=\"18\"} Float(2.5) None",
    ];
    assert_eq!(label, expected);
    for wide in [("sensor_id", Role::Values(None)), ("value", Role::Values(None))] {
        assert_eq!(
            said(&[wide])[..2],
            ["2 1 sensor_id Integer(17) None", "2 1 value Float(1.5) None"]
        );
    }
    assert_eq!(said(&[("sensor_id", Role::Skip)])[0], "2 1 value Float(1.5) None");
    assert_eq!(said(&[("sensor_id", Role::Series)])[0], "2 1 17 Float(1.5) None");
    // Alone it is a series; beside one that is typed, and behind numbers of rows, too.
    for text in ["time,value\n1,1.5\n", ",ts,value\n0,1,1.5\n", "time,n:i64,value\n1,,1.5\n"] {
        assert_eq!(plain(text), ["2 1 value Float(1.5) None"]);
    }
}

/// Of columns, of rows without a header, and of tables that say themselves what they are.
#[test]
fn a_column_that_is_spoken_of_and_not_there_is_refused() {
    let form =
        || TextForm { columns: vec![("sensorid".to_owned(), Role::Label)], ..TextForm::default() };
    let table = "#datatype,string,long,dateTime:RFC3339,double,string,string\n\
        ,result,table,_time,_value,_field,_measurement\n,,0,2024-01-01T00:00:00Z,6,f,m\n";
    for (text, found) in [
        ("time,sensor_id,temp\n1,17,2\n", "found \"time\", \"sensor_id\", \"temp\""),
        ("time,series,value\n1,a,2\n", "found \"time\", \"series\", \"value\""),
        ("1,a,2\n", "found a line without names of columns"),
        (table, "found annotated CSV, which says itself what its columns are"),
    ] {
        let got = short(form(), text);
        let said = format!("expected a column \"sensorid\", which --columns names, {found}");
        assert!(got[0].contains(&said), "{got:?}");
        assert!(got.iter().all(|one| one.starts_with("line ")), "{got:?}");
    }
    // Each header has it, also another one within a file and that of another file.
    let mut parser = CsvParser::of_several(form());
    let mut found = Vec::new();
    for text in [
        "time,sensorid,temp\n1,17,2\ntime,sensor,hum\n1,17,3\ntime,sensorid,hum\n1,17,4\n",
        "time,sensor,temp\n1,17,5\n",
        "time,sensorid,temp\n2,17,6\n",
    ] {
        let mut item = |item: Result<Sample<'_>, CsvError>| {
            found.push(item.map_or_else(
                |error| error.to_string(),
                |sample| format!("{} {:?}", sample.series, sample.value),
            ));
        };
        parser.feed(text.as_bytes(), &mut item);
        parser.finish(&mut item);
    }
    let taken: Vec<&String> = found.iter().filter(|one| !one.starts_with("line ")).collect();
    let named = |name: &str, value: u64| format!("{name}{{sensorid=\"17\"}} Integer({value})");
    assert_eq!(taken, [&named("temp", 2), &named("hum", 4), &named("temp", 6)]);
    assert_eq!(found.len(), 7, "{found:?}");
    assert!(found[2].contains("line 4, ") && found[2].contains("line 3 says why"), "{found:?}");
}

#[test]
fn rows_behind_a_header_that_is_refused_are_not_taken_for_others() {
    // Three fields would be time, series and value.
    let found = plain("date,time,temp\n1,a,5\n2,b,6\ntime,a\n3,7\n");
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[1].starts_with("line 2, ") && found[2].contains("line 1 says why"), "{found:?}");
    assert_eq!(found[3], "5 3 a Integer(7) None");
    // Nor for those of the header before, whichever cell of the new one is wrong first.
    for second in ["time,a,a", "hum,time"] {
        let found = plain(&format!("temp,time\n1,5\n{second}\n2,6\n"));
        assert!(!found[1..].iter().any(|one| one.contains(" temp ")), "{found:?}");
    }
    // Nor are the lines of a text.
    let found = plain("date;time;t:text\n1;2;\"x\ntime;a\n3;7\ny\"\n");
    assert!(found.iter().all(|one| one.starts_with("line ")), "{found:?}");
    // A row that is wrong is no header.
    let found = plain("1,a,1\ndate,time,5\n2,a,2\n");
    assert_eq!((found.len(), found[2].as_str()), (3, "3 2 a Integer(2) None"), "{found:?}");
}

/// RFC 4180: blanks are part of a field. Around names, numbers, times and quotes they say nothing.
#[test]
fn a_text_keeps_its_blanks() {
    for (text, expected) in [
        ("time,t:text\n1,  a b  \n", "2 1 t Text(\"  a b  \") As(Text)"),
        ("time,t:text\r\n1,\ta\t\r\n", "2 1 t Text(\"\\ta\\t\") As(Text)"),
        (" t:text ; time \n a ; 1 \n", "2 1 t Text(\" a \") As(Text)"),
        ("time\tt:text\n1\t a \n", "2 1 t Text(\" a \") As(Text)"),
        ("1, s , a , text \n", "1 1 s Text(\" a \") As(Text)"),
        ("time,series,value,value_type\n1, s ,  ,text\n", "2 1 s Text(\"  \") As(Text)"),
        ("time,t:text\n1,  \n", "2 1 t Text(\"  \") As(Text)"),
        ("time,t:text\n1, \" a \" \n", "2 1 t Text(\" a \") As(Text)"),
        ("value_type,time,name,value\n text , 1 , s , a \n", "2 1 s Text(\" a \") As(Text)"),
        ("time, a , b \n 1 , 2 , \n", "2 1 a Integer(2) None"),
        ("1, s , 5 \n", "1 1 s Integer(5) None"),
        ("1, s , true \n", "1 1 s Boolean(true) None"),
        ("1, s , 5 ,i64\n", "1 1 s Integer(5) As(I64)"),
        ("1, s , \" a \" \n", "1 1 s Quoted(\" a \") None"),
    ] {
        assert_eq!(plain(text), [expected], "{text:?}");
    }
    assert_eq!(plain("time,a,t:text\n1,2,\n"), ["2 1 a Integer(2) None"]);
}

/// As a file is read, which holds tables more likely than lines of now.
fn of_file(text: &str) -> Vec<String> {
    short_of(CsvParser::of_several(TextForm::default()), text)
}

#[test]
fn numbers_of_rows_in_quotes_are_passed_over() {
    let found = of_file("\"\",\"time\",\"temp\"\n\"1\",1,20.5\n\"1e+05\",\"2\",\"21.5\"\n");
    assert_eq!(found, ["2 1 temp Float(20.5) None", "3 2 temp Quoted(\"21.5\") AllQuoted"]);
    // The time may be anywhere.
    let found = of_file("\"\",\"state\",\"time\"\n\"1\",\"on\",7\n\"\",\"on\",7\n");
    assert!(found[0].starts_with("2 7 state Quoted(\"on\")"), "{found:?}");
    assert!(found[1].starts_with("line 3, column 1: expected the number of the row"), "{found:?}");
    // A text of now whose series has such a name is no header, and on a pipe nothing in quotes is.
    for text in [",date,\"2026-11-27\"\n", ",epoch,\"on\"\n", "\"\",\"date\",\"2026-11-27\"\n"] {
        let found = of_file(text);
        assert!(found.len() == 1 && found[0].starts_with("1 "), "{text}: {found:?}");
    }
    let found = plain("\"\",\"state\",\"time\"\n\"\",\"epoch\",\"A\"\n");
    assert_eq!(found.len(), 2, "{found:?}");
    // Nor does a name in quotes say anything where all is in quotes.
    let found = of_file("\"2026-01-02T10:00:00Z\",\"1.5\",\"2.5\"\n");
    assert!(found[0].contains("expected the name of a series, found \"1.5\""), "{found:?}");
}

/// As spreadsheets write it, where cells behind the table were used once.
#[test]
fn columns_without_a_name_behind_all_others_are_blank() {
    let found = plain("time,a,,\n1,2,,\n2,3,,x\n3,4,,\n");
    assert_eq!(
        (found[0].as_str(), found[2].as_str()),
        ("2 1 a Integer(2) None", "4 3 a Integer(4) None")
    );
    assert!(
        found[1].starts_with("line 3, column 6: expected nothing in a column without a name"),
        "{found:?}"
    );
    let found = plain("time,value,\n1,2,\n");
    assert_eq!(found, ["2 1 value Integer(2) None"]);
    assert_eq!(plain(",TIME_MS,a,,\n0.0,2,3,,\n"), ["2 2000000 a Integer(3) None"]);
    assert!(plain("time,,a\n1,2,3\n")[0].contains("expected a name for each column"));
}

#[test]
fn what_others_call_a_type_is_no_part_of_a_name() {
    let found = plain("time,temp:float\n1,2\n");
    assert!(
        found[0].contains("text behind the colon of \"temp:float\", found \"float\""),
        "{found:?}"
    );
    assert_eq!(plain("time,job:rate:sum\n1,2\n"), ["2 1 job:rate:sum Integer(2) None"]);
}
