// Program imports imports what programs of networks import, for prepare-go.sh: it has the
// standard library compiled once, when the image is built.
package main

import (
	_ "archive/zip"
	_ "bufio"
	_ "context"
	_ "crypto/sha256"
	_ "crypto/tls"
	_ "database/sql"
	_ "embed"
	_ "encoding/gob"
	_ "encoding/json"
	_ "expvar"
	_ "flag"
	_ "html/template"
	_ "log/slog"
	_ "net/http/cookiejar"
	_ "net/http/httptest"
	_ "net/http/httputil"
	_ "net/http/pprof"
	_ "net/netip"
	_ "net/rpc/jsonrpc"
	_ "net/smtp"
	_ "os/exec"
	_ "os/signal"
	_ "testing"
	_ "text/tabwriter"
)

func main() {}
