module example.com/museum/websocket-close

go 1.26

require nhooyr.io/websocket v1.8.10
