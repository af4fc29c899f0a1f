//! Pictures of a study: box plots, lines, bars, as SVG to be put into a page or a file.
//!
//! All have one frame: an axis of values to the left, linear from zero or logarithmic by decades,
//! and a legend below. Colours are those that people with colour blindness tell apart (Okabe and
//! Ito). Invariant: no coordinate is NaN or outside the frame, whatever the data; texts are
//! escaped. Held by `coordinates_are_finite_whatever_the_data`.

mod bars;
mod boxes;
mod frame;
mod lines;

pub use bars::BarChart;
pub use boxes::{BoxChart, BoxPlot};
pub use lines::{Line, LineChart};
