// Command client has the server greet somebody over gRPC.
package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/examples/helloworld/helloworld"
)

func main() {
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
