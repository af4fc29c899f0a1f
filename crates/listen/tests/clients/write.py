"""Writes with the libraries that people have: 10,000 lines each, of which one is bad; with OpenTelemetry 1,000
measurements of each kind.

    write.py ADDRESS LIBRARY

Ends with 0 if the library was told what it should be.
"""
import sys

TIME = 1_700_000_000_000_000_000
LINES = 10_000
BAD = 5_000


def lines(name):
    made = [f"{name},host=a v={at}.5 {TIME + at}" for at in range(LINES)]
    made[BAD] = f"{name},host=a v= {TIME}"
    return made


def influxdb(address):
    """InfluxDB 1: its batches are one request here."""
    import influxdb
    from influxdb.exceptions import InfluxDBClientError

    host, port = address.split(":")
    client = influxdb.InfluxDBClient(host, int(port), database="plant")
    assert client.ping().startswith("barograph-")
    client.create_database("plant")
    points = [{"measurement": "one_points", "tags": {"host": "a"}, "time": TIME + at, "fields": {"v": at + 0.5}}
              for at in range(1_000)]
    assert client.write_points(points, time_precision="n", batch_size=300)
    try:
        client.write_points(lines("one"), time_precision="n", protocol="line")
    except InfluxDBClientError as error:
        assert error.code == 400, error
        assert f"line {BAD + 1}:" in str(error) and "dropped=1" in str(error), error
    else:
        raise AssertionError("no error for a bad line")


def influxdb_client(address):
    """InfluxDB 2, with gzip."""
    from influxdb_client import InfluxDBClient, Point
    from influxdb_client.client.write_api import SYNCHRONOUS
    from influxdb_client.rest import ApiException

    with InfluxDBClient(f"http://{address}", token="any", org="o", enable_gzip=True) as client:
        assert client.ping()
        assert client.health().status == "pass"
        write = client.write_api(write_options=SYNCHRONOUS)
        points = [Point("two_points").tag("host", "a").field("v", at + 0.5).time(TIME + at) for at in range(1_000)]
        write.write("b", record=points)
        try:
            write.write("b", record=lines("two"))
        except ApiException as error:
            assert error.status == 400, error
            assert f"line {BAD + 1}:" in error.body, error.body
        else:
            raise AssertionError("no error for a bad line")


def influxdb3(address):
    """InfluxDB 3: each bad line by its number."""
    from influxdb_client_3 import InfluxDBClient3, Point, WriteOptions, WriteType, write_client_options
    from influxdb_client_3.exceptions import InfluxDBPartialWriteError

    how = WriteOptions(write_type=WriteType.synchronous, accept_partial=True, use_v2_api=False)
    options = write_client_options(write_options=how)
    with InfluxDBClient3(host=f"http://{address}", token="any", database="d", write_client_options=options) as client:
        points = [Point("three_points").tag("host", "a").field("v", at + 0.5).time(TIME + at) for at in range(1_000)]
        client.write(points)
        try:
            client.write(lines("three"))
        except InfluxDBPartialWriteError as error:
            told = [(one.line_number, one.original_line) for one in error.line_errors]
            assert told == [(BAD + 1, f"three,host=a v= {TIME}"[:20])], told
        else:
            raise AssertionError("no error for a bad line")


def opentelemetry(address):
    """OTLP in protobuf, with gzip; one of its metrics has no place in a store."""
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
    from opentelemetry.sdk.resources import Resource

    exporter = OTLPMetricExporter(endpoint=f"http://{address}/v1/metrics", compression=Compression.Gzip)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    resource = Resource.create({"service.name": "press", "service.namespace": "plant", "service.instance.id": "3"})
    view = View(instrument_name="exponential", aggregation=ExponentialBucketHistogramAggregation())
    provider = MeterProvider(metric_readers=[reader], resource=resource, views=[view])
    meter = provider.get_meter("rig")
    made = meter.create_counter("parts.made", unit="{part}")
    temp = meter.create_gauge("room.temp", unit="Cel")
    wait = meter.create_histogram("wait", unit="s", explicit_bucket_boundaries_advisory=[0.5, 1.0])
    exponential = meter.create_histogram("exponential")
    for turn in range(10):
        for _ in range(100):
            made.add(2, {"line": "a"})
            wait.record(0.25)
            wait.record(0.75)
            exponential.record(1)
        temp.set(turn + 0.5, {"room.name": "lab"})
        assert provider.force_flush()
    provider.shutdown()


if __name__ == "__main__":
    {"opentelemetry": opentelemetry, "influxdb": influxdb, "influxdb-client": influxdb_client, "influxdb3-python": influxdb3}[sys.argv[2]](sys.argv[1])
