package logfile

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/replication/metadata"
)

// tree returns the content of the files below a directory, by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	}))
	return all
}

// repair plans and applies, and returns the plan.
func (d *made) repair(r Repair) *Plan {
	d.t.Helper()
	lock, err := Lock(d.root)
	must(d.t, err)
	before := tree(d.t, d.root)
	if r.Now.IsZero() {
		r.Now = time.UnixMilli(now)
	}
	plan, err := r.Plan(d.root)
	must(d.t, err)
	if after := tree(d.t, d.root); !sameTree(before, after) {
		d.t.Error("a plan has changed something")
	}
	must(d.t, plan.Apply(nil))
	must(d.t, lock.Close())
	d.kept(plan, before)
	return plan
}

func sameTree(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for path, content := range a {
		if b[path] != content {
			return false
		}
	}
	return true
}

// kept checks that all that is not where it was is kept: whole files, or bytes at their positions.
func (d *made) kept(plan *Plan, before map[string]string) {
	d.t.Helper()
	for path, content := range before {
		after, err := os.ReadFile(path)
		if err == nil && string(after) == content {
			continue
		}
		rel, err := filepath.Rel(d.root, path)
		must(d.t, err)
		if whole, err := os.ReadFile(filepath.Join(plan.Keep, rel)); err == nil && string(whole) == content {
			continue
		}
		parts, err := filepath.Glob(filepath.Join(plan.Keep, rel) + ".at-*")
		must(d.t, err)
		gone := len(content) - len(after)
		for _, name := range parts {
			var at int
			_, err := fmt.Sscanf(name[strings.LastIndex(name, ".at-"):], ".at-%d", &at)
			must(d.t, err)
			b := d.read(name)
			if !strings.HasPrefix(content[at:], string(b)) {
				d.t.Errorf("%s is not what was there", name)
			}
			gone -= len(b)
		}
		_, staged := before[d.at(engine.StageName)]                // of which some may have been added
		if empty := -gone; empty < 0 || empty%61 != 0 && !staged { // what was put in place are headers
			d.t.Errorf("%s: %d bytes are gone and not kept", path, gone)
		}
	}
	if len(plan.Steps) > 0 {
		text := string(d.read(filepath.Join(plan.Keep, "REPAIR.txt")))
		for _, s := range plan.Steps {
			if !strings.Contains(text, s.String()) {
				d.t.Errorf("REPAIR.txt does not say: %s", s)
			}
		}
	}
}

// to returns the offsets from 0 to end but those that are left out.
func to(end int64, without ...int64) (all []int64) {
	for o := range end {
		if !slices.Contains(without, o) {
			all = append(all, o)
		}
	}
	return all
}

func span(from, end int64) (all []int64) {
	for o := from; o < end; o++ {
		all = append(all, o)
	}
	return all
}

// damages are those that a repair has to be told about: what is lost by each choice. The log has offsets 0 to 64, and
// segments from 0, 11, 22, 33, 44 and 55 on.
var damages = map[string]struct {
	how       how
	make      func(d *made)
	state     engine.State
	cut, skip []int64 // offsets that are left
}{
	"a flipped bit":                        {how{}, func(d *made) { d.flip(13) }, engine.RottenBatch, to(13), to(65, 13)},
	"after an orderly stop":                {how{clean: true}, func(d *made) { d.flip(13) }, engine.RottenBatch, to(13), to(65, 13)},
	"a length":                             {how{}, func(d *made) { d.unframe(13) }, engine.CorruptBatch, to(13), to(65, 13)},
	"an offset":                            {how{}, func(d *made) { d.offset(13, 1<<20) }, engine.RottenBatch, to(13), to(65, 13)},
	"an offset at a segment's end":         {how{}, func(d *made) { d.offset(21, 1<<20) }, engine.RottenBatch, to(21), to(65, 21)},
	"the last batch after an orderly stop": {how{clean: true}, func(d *made) { d.flip(64) }, engine.RottenBatch, to(64), to(64)},
	"two places":                           {how{}, func(d *made) { d.flip(13); d.unframe(40) }, engine.RottenBatch, to(13), to(65, 13, 40)},
	"two batches in a row":                 {how{}, func(d *made) { d.flip(13); d.flip(14) }, engine.RottenBatch, to(13), to(65, 13, 14)},
	"two lengths in a row":                 {how{}, func(d *made) { d.unframe(13); d.unframe(14) }, engine.CorruptBatch, to(13), to(65, 13, 14)},
	"the first batch":                      {how{}, func(d *made) { d.flip(0) }, engine.RottenBatch, nil, to(65, 0)},
	"the end of a segment":                 {how{}, func(d *made) { d.unframe(21) }, engine.CorruptBatch, to(21), to(65, 21)},
	"the start of a segment":               {how{}, func(d *made) { d.unframe(22) }, engine.CorruptBatch, to(22), to(65, 22)},
	"a segment that is short":              {how{}, func(d *made) { d.change(d.file(1, ".log"), short(400)) }, engine.CorruptBatch, to(19), to(65, 19, 20, 21)},
	"a segment that is lost":               {how{sync: true}, func(d *made) { d.remove(d.file(2, ".log")) }, engine.SegmentLost, to(22), to(65, span(22, 33)...)},
	"the newest segment that is lost":      {how{guarded: true}, func(d *made) { d.remove(d.file(-1, ".log")) }, engine.SegmentLost, to(55), to(55)},
	"a segment of zeros":                   {how{}, func(d *made) { d.change(d.file(2, ".log"), func(b []byte) []byte { return make([]byte, len(b)) }) }, engine.CorruptBatch, to(22), to(65, span(22, 33)...)},
	"the end below the point":              {how{}, func(d *made) { d.unframe(59); d.checkpoint(checkpoint.RecoveryPoints, 65) }, engine.CorruptBatch, to(59), to(65, 59)},
	"a segment that is double":             {how{}, func(d *made) { d.write(d.in(fmt.Sprintf("%020d.log", 5)), d.read(d.file(1, ".log"))) }, engine.SegmentOverlap, to(11), to(65)},
	"garbage between batches": {how{}, func(d *made) {
		path, at, _ := d.batchAt(13)
		d.change(path, func(b []byte) []byte { return slices.Insert(b, int(at), bytes.Repeat([]byte{0xee}, 99)...) })
	}, engine.CorruptBatch, to(13), to(65)},
	"far behind in a sync log": {how{sync: true, flushed: 10, beyond: 21, bytes: 1_000_000}, func(d *made) { d.flip(12) }, engine.CorruptFlushed, to(12), to(31, 12)},
}

// offset adds to the base offset of a batch, which its checksum does not cover.
func (d *made) offset(of, add int64) {
	d.t.Helper()
	path, at, _ := d.batchAt(of)
	d.change(path, func(b []byte) []byte {
		record.Batch(b[at:]).SetBaseOffset(of + add)
		return b
	})
}

func TestAfterARepairTheLogIsServedAndOffsetsAreWhatTheyWere(t *testing.T) {
	for name, c := range damages {
		for _, choice := range []Choice{Cut, Skip} {
			t.Run(fmt.Sprint(name, ", ", choice), func(t *testing.T) {
				d := make1(t, c.how)
				c.make(d)
				if states, _ := d.verify(); states[c.state] == 0 {
					t.Fatalf("the damage is not %s: %v", c.state, states)
				}
				plan := d.repair(Repair{Choice: choice})
				if len(plan.Undecided)+len(plan.Beyond) > 0 {
					t.Errorf("undecided %v, beyond %v", plan.Undecided, plan.Beyond)
				}
				d.sound(t)
				want := c.cut
				if choice == Skip {
					want = c.skip
				}
				e, l := d.start()
				if got := offsets(t, l, or(c.how.bytes, 100)); !slices.Equal(got, want) {
					t.Errorf("offsets %v, want %v", got, want)
				}
				end := l.LogEndOffset()
				fill(t, l, 3, or(c.how.bytes, 100))
				must(t, e.Close())
				_, l = d.start()
				if got := offsets(t, l, or(c.how.bytes, 100)); !slices.Equal(got, append(want, end, end+1, end+2)) {
					t.Errorf("after three more: %v", got)
				}
			})
		}
	}
}

// sound checks that verify has no problem with the directory.
func (d *made) sound(t *testing.T) {
	t.Helper()
	_, problems := d.verify()
	for _, p := range problems {
		if p.Type == "problem" {
			t.Errorf("after the repair: %v", p)
		}
	}
}

func TestRecordsThatCannotBeReadAreSkippedWhereTheyWereLookedFor(t *testing.T) {
	d := make1(t, how{})
	d.rewrite(13, func(b record.Batch) { b[record.HeaderSize] = 2 })
	if plan := d.repair(Repair{Choice: Skip}); len(plan.Steps) > 0 {
		t.Errorf("not looked for, and found: %v", plan.Steps)
	}
	d.repair(Repair{Choice: Skip, Records: true})
	d.sound(t)
	_, l := d.start()
	if got := offsets(t, l, 100); !slices.Equal(got, to(65, 13)) {
		t.Errorf("offsets %v", got)
	}
}

func TestWhatAKilledBrokerHasStagedOutlivesARepair(t *testing.T) {
	for name, begun := range map[string][]byte{"nothing written": nil, "a write under way": make([]byte, 30)} {
		d := make1(t, how{staged: true})
		d.unwrite(begun)
		d.flip(57) // in the segment that it goes to
		d.repair(Repair{Choice: Skip})
		_, l := d.start()
		if got := offsets(t, l, 100); !slices.Equal(got, to(65, 57)) {
			t.Errorf("%s: offsets %v", name, got)
		}
	}
	d := make1(t, how{staged: true})
	d.unwrite(nil)
	d.flip(13)
	plan := d.repair(Repair{Choice: Cut})
	kept, err := filepath.Glob(filepath.Join(plan.Keep, "t-0", "*.staged-*"))
	must(t, err)
	if len(kept) == 0 || !bytes.Contains(d.read(kept[len(kept)-1]), value(64, 100)) {
		t.Errorf("what was staged is not kept: %v", kept)
	}
	_, l := d.start()
	if got := offsets(t, l, 100); !slices.Equal(got, to(13)) {
		t.Errorf("offsets %v", got)
	}
}

// A start that finds the log corrupt keeps what was staged in a side file, and removes the stage.
func TestWhatAStartHasKeptOfTheStageGoesWhereARepairedSegmentEnds(t *testing.T) {
	for _, choice := range []Choice{Cut, Skip} {
		d := make1(t, how{staged: true})
		d.unwrite(nil)
		d.unframe(57) // in the segment that it goes to, and a start without its index comes there
		d.remove(d.file(-1, ".index"))
		e, l := d.start()
		if engine.StateOf(l.Err()) != engine.CorruptBatch {
			t.Fatal(l.Err())
		}
		e.Close() // a log is offline
		side := func(dir string) (names []string) {
			names, err := filepath.Glob(filepath.Join(dir, "*.log.redo-*"))
			must(t, err)
			return names
		}
		if len(side(d.dir)) == 0 {
			t.Fatal("nothing was kept")
		}
		plan := d.repair(Repair{Choice: choice})
		if len(side(d.dir)) > 0 || len(side(filepath.Join(plan.Keep, "t-0"))) == 0 {
			t.Errorf("choice %d: %v, kept %v", choice, side(d.dir), side(filepath.Join(plan.Keep, "t-0")))
		}
		d.sound(t)
		want := to(65, 57)
		if choice == Cut {
			want = to(57)
		}
		_, l = d.start()
		if got := offsets(t, l, 100); !slices.Equal(got, want) {
			t.Errorf("choice %d: offsets %v", choice, got)
		}
	}
}

func TestALogThatCannotBeReadKeepsNoOtherFromARepair(t *testing.T) {
	d := make1(t, how{})
	must(t, os.CopyFS(d.at("a-0"), os.DirFS(d.dir)))
	index := d.at("a-0/00000000000000000000.index")
	d.remove(index)
	must(t, os.Mkdir(index, 0o755))
	d.flip(13)
	plan := d.repair(Repair{Choice: Skip})
	if len(plan.Beyond) != 1 || plan.Beyond[0].State != engine.Unreadable || plan.Beyond[0].File != index {
		t.Errorf("beyond: %v", plan.Beyond)
	}
	_, l := d.start()
	if got := offsets(t, l, 100); !slices.Equal(got, to(65, 13)) {
		t.Errorf("offsets %v", got)
	}
}

func TestWithoutAChoiceDamageIsLeft(t *testing.T) {
	for name, c := range damages {
		if c.how.bytes > 0 {
			continue
		}
		d := make1(t, c.how)
		c.make(d)
		before := tree(t, d.dir)
		plan := d.repair(Repair{})
		if len(plan.Undecided) == 0 {
			t.Errorf("%s: there is nothing to decide", name)
		}
		for path, content := range before {
			if filepath.Ext(path) == ".log" && string(d.read(path)) != content {
				t.Errorf("%s: %s has changed", name, path)
			}
		}
	}
}

func TestWhatIsMadeAgainIsSoundAfterARepair(t *testing.T) {
	healed := map[engine.State]bool{}
	for _, m := range makers {
		if row := m.state.Row(); row.Harm != engine.Healed && m.state != engine.SnapshotDisagrees {
			continue
		}
		d := make1(t, m.how)
		m.make(d)
		plan := d.repair(Repair{})
		states, problems := d.verify()
		switch m.state {
		case engine.PointWithinBatch: // for the next start
		case engine.TxnIndexDamaged: // nobody but the engine knows what of it is flushed
			if len(plan.Beyond) == 0 {
				t.Errorf("%s, %s: not told", m.state, m.name)
			}
		default:
			healed[m.state] = true
			if states[m.state] > 0 {
				t.Errorf("%s, %s: %v", m.state, m.name, problems)
			}
		}
		_, l := d.start()
		if got := offsets(t, l, 100); !slices.Equal(got, to(int64(len(got)))) || len(got) < 60 {
			t.Errorf("%s, %s: offsets %v", m.state, m.name, got)
		}
	}
	if len(healed) < 7 {
		t.Errorf("only %v were repaired", healed)
	}
}

func TestForeignFilesAndSideFilesAreSetAsideWhereThatIsAsked(t *testing.T) {
	d := make1(t, how{})
	d.write(d.at("notes.txt"), []byte("mine"))
	must(t, os.MkdirAll(d.at("lost+found/deep"), 0o755))
	d.write(d.at("lost+found/deep/file"), []byte("found"))
	d.write(d.file(0, ".log.torn-77"), []byte("torn"))
	d.repair(Repair{})
	for _, name := range []string{"notes.txt", "lost+found/deep/file"} {
		d.read(d.at(name))
	}
	plan := d.repair(Repair{Foreign: true, Torn: true})
	for name, want := range map[string]string{"notes.txt": "mine", "lost+found/deep/file": "found", "t-0/00000000000000000000.log.torn-77": "torn"} {
		if got := d.read(filepath.Join(plan.Keep, name)); string(got) != want {
			t.Errorf("%s has %q", name, got)
		}
		if _, err := os.Stat(d.at(name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	if states, _ := d.verify(); states[engine.ForeignFile]+states[engine.ForeignFolder]+states[engine.TornKept] > 0 {
		t.Error(states)
	}
}

func TestARepairKeepsToItsOwnDirectory(t *testing.T) {
	d := make1(t, how{})
	for _, keep := range []string{d.root, d.at("t-0"), d.at("kept"), filepath.Dir(d.root)} {
		r := Repair{Keep: keep}
		if _, err := r.Plan(d.root); err == nil || !strings.Contains(err.Error(), keep) {
			t.Errorf("%s: %v", keep, err)
		}
	}
}

func TestADirectoryThatABrokerHasIsNotLocked(t *testing.T) {
	d := make1(t, how{})
	e, _ := d.start()
	if _, err := Lock(d.root); err == nil || !strings.Contains(err.Error(), ErrInUse.Error()) {
		t.Error(err)
	}
	if root, yes := InUse(d.file(0, ".log")); !yes || root != d.root {
		t.Errorf("%s, %t", root, yes)
	}
	must(t, e.Close())
	if _, yes := InUse(d.dir); yes {
		t.Error("in use after a stop")
	}
	lock, err := Lock(d.root)
	must(t, err)
	if _, err := engine.Open(engine.Options{Dir: d.root}); err == nil {
		t.Error("an engine opened what a repair has locked")
	}
	must(t, lock.Close())
}

func TestTheRootOfALogIsWhereItLies(t *testing.T) {
	d := make1(t, how{})
	for path, want := range map[string]string{d.dir: d.root, d.root: d.root} {
		if got, err := Root(path); got != want || err != nil {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	named := filepath.Join(t.TempDir(), "kafka-logs-1") // looks like a log's folder, and is not
	must(t, os.CopyFS(named, os.DirFS(d.root)))
	if got, err := Root(named); got != named || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestARepairMakesIndexesWithTheIntervalOfTheirTopic(t *testing.T) {
	d := make1(t, how{large: true, flushed: 300})
	m, err := metadata.Open(metadata.Options{Dir: d.root})
	must(t, err)
	must(t, m.Update(context.Background(), func(*metadata.Image) ([]metadata.Record, error) {
		return []metadata.Record{metadata.TopicRecord{ID: metadata.ID{1}, Name: "t"},
			metadata.ConfigRecord{Resource: metadata.Resource{Type: metadata.ResourceTopic, Name: "t"}, Key: "index.interval.bytes", Value: "300"}}, nil
	}))
	must(t, m.Close())
	name := d.file(0, ".index")
	before := d.read(name)
	if len(before) < 30*8 {
		t.Fatalf("an index of %d bytes", len(before))
	}
	d.write(name, []byte("garbage"))
	d.repair(Repair{})
	if after := d.read(name); !bytes.Equal(after, before) {
		t.Errorf("it had %d bytes, and has %d now", len(before), len(after))
	}
}
