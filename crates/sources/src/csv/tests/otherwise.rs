//! What would be taken for something else: comments that are rows, rows that become a text, dates as names.

use super::*;

#[test]
fn what_only_looks_like_a_comment_is_told() {
    for cell in ["########", "####", "#N/A", "#VALUE!", " #REF! "] {
        for (text, rows) in [
            (format!("time,a\n5,1\n{cell},2\n# a, b\n#7,3\n6,4\n"), ["2 5 a", "6 6 a"]),
            (format!("Date;Temp\n5;1\n{cell};2\n6;4\n"), ["2 5 Temp", "4 6 Temp"]),
            (format!("5,a,1\n{cell},a,2\n6,a,4\n"), ["1 5 a", "3 6 a"]),
        ] {
            let found = plain(&text);
            assert_eq!(found.len(), 3, "{text}: {found:?}");
            assert!(found[0].starts_with(rows[0]) && found[2].starts_with(rows[1]), "{found:?}");
            assert!(found[1].contains("expected a time"), "{found:?}");
        }
    }
    // It is no line of names either, which would cost all rows behind it.
    for (header, bad, row) in [
        ("time,state:text", "#N/A,closed", "6,open"),
        ("time,a,b", "#VALUE!,#N/A,#N/A", "6,3,4"),
        ("Zeit;a;b", "#WERT!;#NV;#NV", "6;3;4"),
    ] {
        let form = TextForm { columns: vec![("Zeit".into(), Role::Time)], ..TextForm::default() };
        let form = if header.starts_with('Z') { form } else { TextForm::default() };
        let found = short_of(CsvParser::of_several(form), &format!("{header}\n{bad}\n{row}\n"));
        assert!(found[0].contains("line 2"), "{found:?}");
        assert!(found[1].starts_with("3 6 "), "{found:?}");
    }
    // A header behind a sign of a comment, as numpy writes it.
    for header in
        ["#time,door,temp", "# time,door,temp", "#time,sensor_id,value", "#time_ms,name,value"]
    {
        let found = plain(&format!("{header}\n5,open,21.5\n6,closed,22.5\n"));
        assert!(found[0].contains("a comment in line 1 that names other columns"), "{found:?}");
        assert_eq!(found.len(), 2, "{found:?}");
    }
    for header in [
        "# time,series,value",
        "# timestamp,sensor,value",
        "# ts,name,value",
        "# time, and others",
        "# of 2026, by Ann, lab 2",
        "#concatenated from a.csv and b.csv",
        "#constants: g=9.81",
        "#constant temperature, 20 C",
    ] {
        assert_eq!(plain(&format!("{header}\n5,a,21.5\n")), ["2 5 a Float(21.5) None"]);
    }
    assert_eq!(plain("#time,x,y\ntime,a\n5,1\n"), ["3 5 a Integer(1) None"]);
    // What is read by `influx write`.
    for line in ["#constant measurement,cpu", "#datatype dateTime:number,double", "#concat,m,${a}"]
    {
        let found = plain(&format!("{line}\ntime,used\n1700000000000000000,1.5\n"));
        assert!(found.len() == 1 && found[0].contains("CSV for writing"), "{found:?}");
    }
}

/// Two cells of a quote alone, such as inches, would make a text of what is between.
#[test]
fn rows_do_not_become_a_text() {
    let t = "1700000000.";
    for (text, rows) in [
        (
            format!("time,sensor,unit,value\n{t}5,w,\",5\n{t}6,w,mm,6\n{t}7,w,\",7\n{t}8,w,mm,8\n"),
            [3, 5],
        ),
        (format!("time,unit,v\n{t}5,\",5\n{t}6,\"mm\",6\n{t}7,\",7\n{t}8,\"mm\",8\n"), [3, 5]),
        (format!("time;s;v\n{t}5;\"leak;5\n{t}6;\"ok\";6\n{t}7;ok\";8\n{t}8;\"x\";7\n"), [3, 5]),
    ] {
        let found = plain(&text);
        let taken: Vec<_> = found.iter().filter(|one| !one.starts_with("line ")).collect();
        let lines: Vec<_> = taken.iter().map(|one| one.split(' ').next().unwrap()).collect();
        for row in rows {
            assert!(lines.contains(&row.to_string().as_str()), "{text}: {found:?}");
        }
        assert!(!lines.contains(&"2") && !lines.contains(&"4"), "{text}: {found:?}");
        assert!(found.iter().any(|one| one.starts_with("line 2")), "{text}: {found:?}");
    }
    // Where it is said that it is one, and where what is in it is no row.
    assert_eq!(plain(&format!("9,note,\"x,y\n{t}5,b,2\",text\n")).len(), 1);
    let said = plain(&format!("time,note:text,v\n{t}5,\"x,1\n{t}6,b\",2\n"));
    assert!(said.len() == 2 && said[0].contains("Text("), "{said:?}");
    let said = plain(&format!("time,sensor,value:text\n{t}5,w,\"x\n{t}6,x,y\"\n"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(plain("9,note,\"two\nlines, or\nthree\"\n").len(), 1);
    assert_eq!(plain("time,note\n5,\"one\n1, left\n2, right\"\n").len(), 1);
}

#[test]
fn a_date_in_any_form_is_no_name() {
    for date in [
        "Tue Nov 14 22:13:20 2023",
        "11/14/2023 22:13:20",
        "11/14/2023",
        "11/14/23",
        "11/14/23 10:13:20 PM",
        "14-Nov-23",
        "14-Nov-23 22:13:20",
        "Nov 14 2023 22:13:20",
        "Nov 14 22:13:20",
        "20231114T221320Z",
        "2023-11-14_22:13:20",
        "2023:11:14 22:13:20",
        "14.11.23 22:13",
        "2023-11-14 22:13:20:500",
        "14. November 2023",
        "14.11.2023",
        "2023.11.14 22:13:20",
        "Sept 14 2023",
    ] {
        assert!(is_value(date), "{date}");
        let found = plain(&format!("5,{date},21.5\n"));
        assert!(found[0].starts_with("line 1, column 3: expected the name"), "{date}: {found:?}");
        let found = plain(&format!("time,sensor,value,calibrated\n5,a,1,{date}\n"));
        assert!(found[0].starts_with("line 2, column 7: "), "{date}: {found:?}");
    }
    for name in [
        "10.0.0.1",
        "192.168.1.10:502",
        "1-0:1.8.0",
        "1-0:32.7.0",
        "1/2/31",
        "12/3/104",
        "4-20",
        "1-2-3",
        "dec_12_30",
        "mar-10-20",
        "Monitor 12",
        "Thursday",
        "P-101.2",
        "3/4 inch valve",
        "00:1b:44:11:3a:b7",
        "2023 budget",
        "10.0.0.5:2181",
        "172.16.0.5:2049",
        "10.1.2.3:1900",
        "2024.10.1",
        "2023.1.2",
        "Junction 1:4",
        "Separator 1:2",
        "Decoder 2:1",
        "Marker 1:2",
        "20231114T221320_pressure",
        "sun 1 2",
    ] {
        assert!(!is_value(name), "{name}");
    }
}

#[test]
fn a_column_without_a_name_holds_numbers_of_rows() {
    for row in ["21.5", "-3", "nan", "-3.25e2", "inf"] {
        let found = plain(&format!(",time,a\n{row},5,1\n"));
        assert!(found[0].contains("expected the number of the row"), "{row}: {found:?}");
    }
    for row in ["0", "0.0", "1e+05", "100000"] {
        assert_eq!(plain(&format!(",time,a\n{row},5,1\n")), ["2 5 a Integer(1) None"]);
    }
}

/// As `%g` and numpy print the seconds since a test began: an integer would be nanoseconds, so that samples would
/// change places.
#[test]
fn early_times_with_a_point_and_without_are_not_of_one_unit() {
    let found = plain("time,a\n0,1\n0.5,2\n1,3\n1.5,4\n2,5\n1e1,6\n");
    let taken: Vec<bool> = found.iter().map(|found| !found.contains("expected times")).collect();
    assert_eq!(taken, [true, true, false, true, false, true], "{found:?}");
    assert!(found[2].contains("--precision s if all are seconds"), "{found:?}");
    let found = plain("time,a\n1,1\n2,2\n2.5,3\n3,4\n");
    assert!(found[2].contains("expected times that all have a point or none"), "{found:?}");
    assert!(found[3].starts_with("5 3 a"), "{found:?}");
    for header in ["", "time,series,value\n"] {
        let found = plain(&format!("{header}0.5,a,1\n1,a,2\n1.5,a,3\n"));
        assert!(found.len() == 3 && found[1].contains("expected times that all have"), "{found:?}");
    }
    // Of late ones each form is known, and of one that says its unit all are in it.
    let late = plain("time,a\n1700000000.5,1\n1700000001000000000,2\n");
    assert_eq!(late.len(), 2);
    assert!(late.iter().all(|found| !found.contains("expected")), "{late:?}");
    let said = plain("time_s,a\n0.5,1\n1,2\n");
    assert!(said[1].starts_with("3 1000000000 a"), "{said:?}");
}

#[test]
fn a_line_that_is_looked_at_before_it_is_read_has_no_form_yet() {
    // Within the text is what could be a row, with a time of the other form.
    let found = plain("time,a,note\n0.5,1,\"first\n1,2,3\n\"\n1.5,2,\"x\"\n");
    assert!(found.len() == 4 && found.iter().all(|found| !found.contains("expected")), "{found:?}");
}
