module example.org/operations

go 1.25
