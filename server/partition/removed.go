package partition

import (
	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/logdir"
)

// finishDeletions deletes the logs of topics that were removed, by their topic ids, which no other topic ever gets. A log
// without an id, or with one that the metadata never had, is nobody's to delete.
func (t *Table) finishDeletions(img *metadata.Image) {
	gone := make(map[[16]byte]bool)
	for _, ref := range img.Removed() {
		if _, again := img.TopicByID(ref.ID); !again {
			gone[ref.ID] = true
		}
	}
	for _, d := range t.dirs.All() {
		for _, l := range d.Logs() {
			if gone[l.TopicID()] {
				t.finishDeletion(d, l)
			}
		}
	}
}

func (t *Table) finishDeletion(d *logdir.Dir, l *engine.Log) {
	if err := d.Delete(l.Name()); err != nil {
		t.log.Error("delete what a deletion left", "log", l.Name(), "dir", d.Path(), "error", err)
		return
	}
	t.log.Info("deleted a log that the deletion of its topic had left", "log", l.Name(), "dir", d.Path(), "id", metadata.ID(l.TopicID()))
}
