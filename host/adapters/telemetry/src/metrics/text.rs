//! Metrics as the text that Prometheus reads
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>).
//!
//! The text is written here, since the libraries of Prometheus have registries of their own, whose
//! values OTLP could not send. Names are those of OpenTelemetry in Prometheus' form
//! (<https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/>).

use opentelemetry::{Key, KeyValue};
use opentelemetry_sdk::metrics::data::{
    AggregatedMetrics, HistogramDataPoint, Metric, MetricData, ResourceMetrics, ScopeMetrics,
};
use std::fmt::{Display, Write as _};

/// Figures of a moment, which no event counts.
#[derive(Clone, Debug)]
pub struct Gauge {
    /// The name in Prometheus' form.
    pub name: &'static str,
    /// A sentence about it.
    pub help: &'static str,
    /// The name of its label; absent for one figure.
    pub label: Option<&'static str>,
    /// The figures, each with the value of the label.
    pub values: Vec<(String, u64)>,
}

/// Writes metrics and gauges.
pub(super) fn write(metrics: &ResourceMetrics, gauges: &[Gauge]) -> String {
    let mut text = String::new();
    let metrics = metrics.scope_metrics().flat_map(ScopeMetrics::metrics);
    metrics.for_each(|metric| write_metric(&mut text, metric));
    for gauge in gauges {
        head(&mut text, gauge.name, gauge.help, "gauge");
        for (value, figure) in &gauge.values {
            let label = gauge.label.map(|label| (label.to_owned(), value.clone()));
            line(&mut text, gauge.name, label.as_slice(), figure);
        }
    }
    text
}

fn write_metric(text: &mut String, metric: &Metric) {
    match metric.data() {
        AggregatedMetrics::U64(data) => write_data(text, metric, data),
        AggregatedMetrics::F64(data) => write_data(text, metric, data),
        // There is no such instrument.
        AggregatedMetrics::I64(data) => write_data(text, metric, data),
    }
}

fn write_data<T: Copy + Display>(text: &mut String, metric: &Metric, data: &MetricData<T>) {
    let help = metric.description();
    match data {
        MetricData::Sum(sum) => {
            let name = format!("{}_total", name(metric));
            head(text, &name, help, "counter");
            for point in sum.data_points() {
                line(text, &name, &labels(point.attributes()), point.value());
            }
        }
        MetricData::Histogram(histogram) => {
            let name = name(metric);
            head(text, &name, help, "histogram");
            for point in histogram.data_points() {
                write_histogram(text, &name, point);
            }
        }
        // There is no such instrument.
        MetricData::Gauge(_) | MetricData::ExponentialHistogram(_) => {}
    }
}

fn write_histogram<T: Copy + Display>(
    text: &mut String,
    name: &str,
    point: &HistogramDataPoint<T>,
) {
    let labels = labels(point.attributes());
    let bounds = point.bounds().map(|bound| bound.to_string());
    let bounds = bounds.chain(["+Inf".to_owned()]);
    let mut below = 0_u64;
    for (bound, count) in bounds.zip(point.bucket_counts()) {
        below = below.saturating_add(count);
        let bound = ("le".to_owned(), bound);
        let labels = [labels.as_slice(), &[bound]].concat();
        line(text, &format!("{name}_bucket"), &labels, below);
    }
    line(text, &format!("{name}_sum"), &labels, point.sum());
    line(text, &format!("{name}_count"), &labels, point.count());
}

/// Returns the name of a metric in Prometheus' form, its unit included. A unit in braces is a note.
fn name(metric: &Metric) -> String {
    let name = metric.name().replace('.', "_");
    match metric.unit() {
        "s" => format!("{name}_seconds"),
        _ => name,
    }
}

fn labels<'a>(attributes: impl Iterator<Item = &'a KeyValue>) -> Vec<(String, String)> {
    let name = |key: &Key| key.as_str().replace('.', "_");
    let labels = attributes.map(|pair| (name(&pair.key), pair.value.as_str().into_owned()));
    let mut labels: Vec<_> = labels.collect();
    labels.sort_unstable();
    labels
}

fn head(text: &mut String, name: &str, help: &str, kind: &str) {
    let help = help.replace('\\', "\\\\").replace('\n', "\\n");
    // Writing to a string does not fail, here and below.
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn line(text: &mut String, name: &str, labels: &[(String, String)], value: impl Display) {
    text.push_str(name);
    let mut separator = '{';
    for (label, value) in labels {
        let value = value.replace('\\', "\\\\");
        let value = value.replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(text, "{separator}{label}=\"{value}\"");
        separator = ',';
    }
    if !labels.is_empty() {
        text.push('}');
    }
    let _ = writeln!(text, " {value}");
}
