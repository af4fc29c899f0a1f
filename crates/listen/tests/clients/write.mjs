// Writes with OpenTelemetry's SDK for JavaScript, in JSON: node write.mjs ADDRESS, where its modules are.
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const { OTLPMetricExporter } = require("@opentelemetry/exporter-metrics-otlp-http");
const { resourceFromAttributes } = require("@opentelemetry/resources");
const { AggregationType, MeterProvider, PeriodicExportingMetricReader } = require("@opentelemetry/sdk-metrics");

const exporter = new OTLPMetricExporter({ url: `http://${process.argv[2]}/v1/metrics` });
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
const provider = new MeterProvider({
  readers: [reader],
  resource: resourceFromAttributes({
    "service.name": "press", "service.namespace": "plant", "service.instance.id": "3", "host.name": "rig",
  }),
  views: [{ instrumentName: "exponential", aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM } }],
});
const meter = provider.getMeter("rig");
const made = meter.createCounter("parts.made", { unit: "{part}" });
const temp = meter.createGauge("room.temp", { unit: "Cel" });
const wait = meter.createHistogram("wait", { unit: "s", advice: { explicitBucketBoundaries: [0.5, 1] } });
const exponential = meter.createHistogram("exponential");
for (let turn = 0; turn < 10; turn++) {
  for (let at = 0; at < 100; at++) {
    made.add(2, { line: "a" });
    wait.record(0.25);
    wait.record(0.75);
    exponential.record(1);
  }
  temp.record(turn + 0.5, { "room.name": "lab" });
  await provider.forceFlush();
}
await provider.shutdown();
