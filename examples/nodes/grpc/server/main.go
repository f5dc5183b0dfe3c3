// Command server greets whoever calls it over gRPC.
package main

import (
	"context"
	"net"

	"google.golang.org/grpc"
	pb "google.golang.org/grpc/examples/helloworld/helloworld"
)

type greeter struct{ pb.UnimplementedGreeterServer }

func (greeter) SayHello(_ context.Context, r *pb.HelloRequest) (*pb.HelloReply, error) {
	return &pb.HelloReply{Message: "hello " + r.GetName()}, nil
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:7500")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer()
	pb.RegisterGreeterServer(server, greeter{})
	panic(server.Serve(listener))
}
