package main

var (
	numbers = make(chan int, 2)
	length  int
)

var onChannels = map[string]prepared{
	"chan send":    just(func() { numbers <- 1 }),
	"chan receive": func() func() { numbers <- 1; return func() { <-numbers } },
	"chan close":   just(func() { close(numbers) }),
	"chan range": func() func() {
		close(numbers)
		return func() {
			for range numbers {
				continue
			}
		}
	},
	"chan len": just(func() { length = len(numbers) }),
	"chan cap": just(func() { length = cap(numbers) }),
	"select": func() func() {
		numbers <- 1
		return func() {
			select {
			case <-numbers:
			case numbers <- 2:
			}
		}
	},
	"select default": just(func() {
		select {
		case <-numbers:
		default:
		}
	}),
}
