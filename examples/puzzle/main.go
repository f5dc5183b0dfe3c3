// Command puzzle searches puzzles: it makes moves for ever, chooses each with tandem.Choose, and
// names its state with tandem.State. So the checker ends an execution that comes to a position
// which is known, and the search has an end. The goal is stated as an assertion that it is never
// reached: a counterexample is a solution.
//
//	tandem check ./examples/puzzle -- jugs 4
//	tandem check ./examples/puzzle -- jugs 6
//	tandem check ./examples/puzzle -- tiles 2 3
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/tandem-mc/tandem"
)

func main() {
	var numbers []int
	for _, text := range os.Args[min(2, len(os.Args)):] {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			usage()
		}
		numbers = append(numbers, n)
	}
	switch {
	case len(numbers) == 1 && os.Args[1] == "jugs":
		fillJugs(numbers[0])
	case len(numbers) == 2 && os.Args[1] == "tiles" && numbers[0] > 1 && numbers[1] > 1:
		slideTiles(numbers[0], numbers[1])
	}
	usage()
}

func usage() {
	fmt.Println("usage: puzzle jugs LITRES | puzzle tiles ROWS COLUMNS")
	os.Exit(2)
}

// jugs are one of 5 litres and one of 3, with what is in them.
type jugs struct{ five, three int }

// fillJugs never has so many litres in a jug, of a well without end.
func fillJugs(litres int) {
	var j jugs
	for {
		tandem.State(j)
		switch tandem.Choose(6) {
		case 0:
			j.five = 5
		case 1:
			j.three = 3
		case 2:
			j.five = 0
		case 3:
			j.three = 0
		case 4:
			n := min(j.five, 3-j.three)
			j.five, j.three = j.five-n, j.three+n
		case 5:
			n := min(j.three, 5-j.five)
			j.five, j.three = j.five+n, j.three-n
		}
		tandem.Assert(j.five != litres && j.three != litres, "there are ", litres, " litres in a jug")
	}
}

// slideTiles slides tiles in a frame with one hole, and never comes to where two of them have
// changed places: half of all orders cannot be reached.
func slideTiles(rows, columns int) {
	tiles := make([]int, rows*columns) // 0 is the hole
	for i := range tiles {
		tiles[i] = (i + 1) % len(tiles)
	}
	unreachable := slices.Clone(tiles)
	unreachable[0], unreachable[1] = unreachable[1], unreachable[0]
	for {
		tandem.State(tiles)
		hole := slices.Index(tiles, 0)
		var moves []int
		if hole >= columns {
			moves = append(moves, hole-columns)
		}
		if hole+columns < len(tiles) {
			moves = append(moves, hole+columns)
		}
		if hole%columns > 0 {
			moves = append(moves, hole-1)
		}
		if hole%columns < columns-1 {
			moves = append(moves, hole+1)
		}
		to := moves[tandem.Choose(len(moves))]
		tiles[hole], tiles[to] = tiles[to], tiles[hole]
		tandem.Assert(!slices.Equal(tiles, unreachable), "two tiles have changed places")
	}
}
