module example.com/museum/stomp-begin

go 1.26

require github.com/go-stomp/stomp v2.0.1+incompatible

require gopkg.in/check.v1 v1.0.0-20201130134442-10cb98267c6c // indirect
