package image

// Numbered are values that are numbered by their images.
type Numbered struct {
	Values  []any
	numbers map[string]uint32
}

// Number is that of a value with an image. It may be new.
func (n *Numbered) Number(image string, value any) (number uint32, isNew bool) {
	if n.numbers == nil {
		n.numbers = map[string]uint32{}
	}
	number, ok := n.numbers[image]
	if !ok {
		number = uint32(len(n.Values))
		n.numbers[image] = number
		n.Values = append(n.Values, value)
	}
	return number, !ok
}
