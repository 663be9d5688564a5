package record

import (
	"fmt"
	"testing"
)

var shapes = []struct{ count, size int }{{1, 100}, {16, 1000}, {64, 1000}}

func BenchmarkPrepare(b *testing.B) {
	for _, c := range codecs {
		for _, s := range shapes {
			b.Run(fmt.Sprintf("%v/%dx%d", c, s.count, s.size), func(b *testing.B) {
				input := sample(c, s.count, s.size).Bytes()
				r := clientRules()
				var p Prepared
				b.SetBytes(int64(s.count * s.size))
				b.ReportAllocs()
				for b.Loop() {
					if err := p.Prepare(input, r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkNextAndCheck(b *testing.B) {
	for _, s := range shapes {
		b.Run(fmt.Sprintf("%dx%d", s.count, s.size), func(b *testing.B) {
			input := sample(None, s.count, s.size).Bytes()
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			for b.Loop() {
				batch, _, err := Next(input)
				if err == nil {
					err = batch.Check()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
