"""Prints the spans, or behind `metrics` the metrics, of the requests in the named files, one line of JSON each."""

import json
import sys

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status


def value(any_value):
    kind = any_value.WhichOneof("value")
    if kind == "array_value":
        return [value(item) for item in any_value.array_value.values]
    return getattr(any_value, kind)


def attributes(pairs):
    names = [pair.key for pair in pairs]
    assert len(names) == len(set(names)), names
    return {pair.key: value(pair.value) for pair in pairs}


def spans(request):
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                print(json.dumps({
                    "service": attributes(resource.resource.attributes)["service.name"],
                    "scope": scope.scope.name,
                    "schema": scope.schema_url,
                    "trace": span.trace_id.hex(),
                    "id": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "name": span.name,
                    "kind": Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
                    "start_ms": span.start_time_unix_nano // 1_000_000,
                    "end_ms": span.end_time_unix_nano // 1_000_000,
                    "status": Status.StatusCode.Name(span.status.code).removeprefix("STATUS_CODE_").lower(),
                    "attributes": attributes(span.attributes),
                    "events": [event.name for event in span.events],
                }))


def point(kind, data):
    """The attributes of a point with its figure: the value of a sum, the count and the sum of a histogram."""
    figures = {"attributes": attributes(data.attributes)}
    if kind == "sum":
        figures["value"] = getattr(data, data.WhichOneof("value"))
    else:
        assert len(data.bucket_counts) == len(data.explicit_bounds) + 1
        assert sum(data.bucket_counts) == data.count
        figures |= {"count": data.count, "sum": data.sum}
    return figures


def metrics(request):
    for resource in request.resource_metrics:
        of = attributes(resource.resource.attributes)
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                data = getattr(metric, kind)
                assert data.aggregation_temporality == AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
                assert metric.description
                print(json.dumps({
                    "service": of["service.name"],
                    "instance": of["service.instance.id"],
                    "schema": scope.schema_url,
                    "name": metric.name,
                    "unit": metric.unit,
                    "kind": kind,
                    "points": [point(kind, one) for one in data.data_points],
                }))


paths = sys.argv[1:]
is_metrics = paths[:1] == ["metrics"]
for path in paths[is_metrics:]:
    request = ExportMetricsServiceRequest() if is_metrics else ExportTraceServiceRequest()
    with open(path, "rb") as file:
        request.ParseFromString(file.read())
    (metrics if is_metrics else spans)(request)
