// Command together has the client and the server of gRPC in one program, for comparison.
package main

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
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
	go server.Serve(listener)
	conn, err := grpc.NewClient("127.0.0.1:7500", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	reply, err := pb.NewGreeterClient(conn).SayHello(context.Background(), &pb.HelloRequest{Name: "anne"})
	if err != nil || reply.GetMessage() != "hello anne" {
		panic(fmt.Sprint("the server says ", reply, ", ", err))
	}
}
