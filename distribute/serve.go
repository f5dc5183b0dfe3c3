package distribute

import (
	"context"
)

// Server is a NATS server in this process that stays for several runs, one after the other.
type Server struct{ *connection }

// Serve starts a server as the URL of the options says; nil if that is one of another process. A
// run uses it with Options.Server. The caller has to close it.
func Serve(o Options) (*Server, error) {
	if !isEmbedded(o.URL) {
		return nil, nil
	}
	o.Say = nil // each run has a connection of its own, which tells
	c, err := connect(o)
	if err != nil {
		return nil, err
	}
	return &Server{c}, nil
}

// Close ends the server, after the last run. The workers end with it.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	_ = s.nats.Publish(byeSubject, nil)
	_ = s.nats.FlushWithContext(ctx)
	s.close()
}
