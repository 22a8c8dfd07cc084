/* http_library.h -- libmicrohttpd, loaded when a server starts. */
#ifndef HTTP_LIBRARY_H
#define HTTP_LIBRARY_H

#include "base/status.h"

/* Before the first of its functions is called.  VT_IO where it cannot be loaded. */
VT_MUST_CHECK vt_status http_library_load(vt_error *err);

#endif
