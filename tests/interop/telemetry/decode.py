"""Prints the spans of the requests in the named files, one line of JSON each."""

import json
import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
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


for path in sys.argv[1:]:
    request = ExportTraceServiceRequest()
    with open(path, "rb") as file:
        request.ParseFromString(file.read())
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
