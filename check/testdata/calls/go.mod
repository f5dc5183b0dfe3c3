module example.com/calls

go 1.25

require example.com/library v0.0.0

replace example.com/library => ./library
