/* The conformance tools for HTTP. */
#ifndef WEB_H
#define WEB_H

#include "agent_tool.h"

extern const at_field http_input[];
extern const at_field stream_input[];

at_result send_http(const at_call *call);
at_result stream_http(const at_call *call);

#endif
