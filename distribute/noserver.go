//go:build noserver

package distribute

import (
	"errors"

	"github.com/nats-io/nats.go"
)

// ownServer is a NATS server in this process: there is none.
type ownServer struct{ url string }

// Everything else is as with a server: checks are led at one that runs already, and workers, which
// never have a server of their own, do not notice.

// startServer says that there is none.
func startServer(string, string, int64, Login) (*ownServer, error) {
	return nil, errors.New("this tandem was built without it (the tag noserver): name one by its URL")
}

func (*ownServer) connects() nats.Option { return nil }

func (*ownServer) stop() {}
