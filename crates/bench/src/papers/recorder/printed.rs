//! What the paper prints: its tables 1 to 3 and figure 5 (IPSJ Journal 61(8), 1275-1284, 2020).
//! Microseconds; eMMC 5.0, dual core of 1 GHz, Linux 4.4 where nothing else is said.

/// Minimum, maximum and mean.
pub type MinMaxMean = [f64; 3];

/// Table 1.
pub const TABLE_1: [(&str, MinMaxMean); 12] = [
    ("NONE", [141.0, 4_454.0, 259.0]),
    ("ALL", [89.0, 309.0, 176.0]),
    ("ALL-BGTRUNC", [88.0, 9_178.0, 176.0]),
    ("ALL-BGALL", [88.0, 12_482.0, 189.0]),
    ("WAPPEND-SDATA-FOFF", [142.0, 107_546.0, 298.0]),
    ("WAPPEND-SALL-FOFF", [140.0, 4_821.0, 275.0]),
    ("WPRE-SALL-FOFF", [89.0, 486.0, 173.0]),
    ("WPRE-SALL-FOFF-BGTRUNC", [90.0, 9_334.0, 182.0]),
    ("WPRE-SALL-FOFF-BGALL", [87.0, 13_431.0, 178.0]),
    ("WPRE-SDATA-FON", [90.0, 361.0, 178.0]),
    ("WPRE-SDATA-FON-BGTRUNC", [88.0, 13_273.0, 177.0]),
    ("WPRE-SDATA-FON-BGALL", [88.0, 121_756.0, 201.0]),
];

/// Table 2: medium, kernel, case.
pub const TABLE_2: [(&str, &str, &str, MinMaxMean); 8] = [
    ("eMMC", "4.4", "NONE", [141.0, 4_454.0, 259.0]),
    ("eMMC", "4.4", "ALL", [89.0, 309.0, 176.0]),
    ("eMMC", "4.14", "NONE", [143.0, 7_056.0, 514.0]),
    ("eMMC", "4.14", "ALL", [92.0, 683.0, 387.0]),
    ("microSDXC", "4.4", "NONE", [139.0, 11_065.0, 296.0]),
    ("microSDXC", "4.4", "ALL", [89.0, 384.0, 210.0]),
    ("microSDXC", "4.14", "NONE", [141.0, 12_401.0, 536.0]),
    ("microSDXC", "4.14", "ALL", [91.0, 685.0, 384.0]),
];

/// Table 3: with a sequential reader beside it. Without one: as in table 1.
pub const TABLE_3_WITH_READER: [(&str, MinMaxMean); 2] =
    [("NONE", [142.0, 355_958.0, 392.0]), ("ALL", [88.0, 418.0, 179.0])];

/// Figure 5: the reader's throughput beside the recorder, of that alone.
pub const FIGURE_5: [(&str, f64); 2] = [("NONE", 0.79), ("ALL", 0.78)];

/// The printed row of a case.
#[must_use]
pub fn table_1(name: &str) -> Option<MinMaxMean> {
    TABLE_1.iter().find(|(known, _)| *known == name).map(|(_, row)| *row)
}
