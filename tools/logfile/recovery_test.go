package logfile

import (
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/record"
)

func (f *fixture) recovery(lines ...string) {
	body := fmt.Sprintf("%d\n%s\n", len(lines), strings.Join(lines, "\n"))
	f.write(recoveryName, []byte(fmt.Sprintf("0\n%08x\n%s", crc32.Checksum([]byte(body), castagnoli), body)))
}

func TestABadPlaceFarBeforeAGoodBatchOfASyncLogIsCorruption(t *testing.T) {
	for syncFrom, corrupt := range map[int64]bool{-1: false, 0: true, 24: true, 25: false} {
		f := newFixture(t)
		f.recovery(fmt.Sprintf("orders 0 18 15 1000 0 %d", syncFrom))
		f.change(secondLog, func(b []byte) []byte {
			b[f.positions[24]+70] ^= 1
			value := make([]byte, 1<<20)
			for o := int64(logEnd); o < logEnd+18; o++ {
				next := record.NewBuilder(record.None)
				next.BaseOffset, next.PartitionLeaderEpoch = o, 1
				b = append(b, next.Add(1100, nil, value).Bytes()...)
			}
			return b
		})
		found := false
		for _, p := range f.verify() {
			found = found || !p.Torn && p.Position == f.positions[24]
		}
		if found != corrupt {
			t.Errorf("in sync from offset %d: corruption is %v, want %v: %v", syncFrom, found, corrupt, f.verify())
		}
	}
}

func TestARecoveryCheckpointThatIsDamagedIsTold(t *testing.T) {
	f := newFixture(t)
	f.recovery("orders 0 18 15 1000 0 -1")
	text, _, err := f.dump(recoveryName)
	must(t, err)
	if !strings.HasSuffix(text, "orders-0 offset 18 segment 15 largest timestamp 1000 at offset 0 sync from -1\n") {
		t.Error(text)
	}
	f.change(recoveryName, func(b []byte) []byte { b[len(b)-8]++; return b })
	if p := f.verify(); len(p) != 1 || !strings.Contains(p[0].Found, "checksum") {
		t.Error(p)
	}
}
