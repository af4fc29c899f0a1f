//! baro: records sensor data without ever making the producer wait.
fn main() {}
