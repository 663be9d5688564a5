package results

import "testing"

func TestSpreadsHaveTheMedianOfEvenAndOddNumbers(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3, 1}},
		{[]float64{9, 1, 2}, Spread{2, 1, 9, 3}},
		{[]float64{4, 1, 3, 2}, Spread{2.5, 1, 4, 4}},
	} {
		if got := SpreadOf(c.in); got != c.want {
			t.Errorf("%v: %+v", c.in, got)
		}
	}
}
