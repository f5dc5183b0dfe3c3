// Command grpc-stop stops a gRPC server gracefully, and then for good, while a call is under way.
package main

import (
	"context"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	begun, stopped := make(chan bool), make(chan bool)
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "museum.Museum",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Visit",
			Handler: func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
				begun <- true
				<-stopped
				return &emptypb.Empty{}, nil
			},
		}},
	}, nil)
	go server.Serve(listener)
	conn, err := grpc.NewClient(listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	go conn.Invoke(context.Background(), "/museum.Museum/Visit", &emptypb.Empty{}, &emptypb.Empty{})
	<-begun
	conn.Close()
	go server.GracefulStop()
	server.Stop()
	close(stopped)
	fmt.Println("stopped")
}
