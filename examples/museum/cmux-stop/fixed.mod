module example.com/museum/cmux-stop

go 1.26.0

require github.com/soheilhy/cmux v0.1.5

require (
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
