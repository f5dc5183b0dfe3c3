module example.com/museum

go 1.26.0
