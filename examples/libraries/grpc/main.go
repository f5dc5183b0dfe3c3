// Grpc is a counter served by google.golang.org/grpc, and two clients of it: reading and storing
// are two critical sections, so that an update can be lost. With -fixed they are one.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/examples/helloworld/helloworld"

	"example.com/libraries/flags"
)

type counter struct {
	pb.UnimplementedGreeterServer
	fixed  bool
	mu     sync.Mutex
	visits int
}

func (c *counter) SayHello(_ context.Context, r *pb.HelloRequest) (*pb.HelloReply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	visits := c.visits
	if !c.fixed {
		c.mu.Unlock()
		c.mu.Lock()
	}
	c.visits = visits + 1
	return &pb.HelloReply{Message: "hello " + r.GetName()}, nil
}

func main() {
	c := &counter{fixed: flags.Fixed()}
	listener, err := net.Listen("tcp", "127.0.0.1:50051")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer()
	pb.RegisterGreeterServer(server, c)
	go server.Serve(listener)
	conn, err := grpc.NewClient("127.0.0.1:50051", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, err := pb.NewGreeterClient(conn).SayHello(context.Background(),
				&pb.HelloRequest{Name: "anne"}); err != nil {
				panic(err)
			}
		})
	}
	both.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.visits != 2 {
		fmt.Fprintf(os.Stderr, "%d visits, want 2\n", c.visits)
		os.Exit(1)
	}
}
