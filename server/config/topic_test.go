package config

import "testing"

func TestATopicWithNothingSetHasKafkasDefaults(t *testing.T) {
	c := EffectiveTopic(nil, nil, nil, nil)
	if c.SegmentBytes != 1<<30 || c.RetentionMs != 7*24*hour || c.SegmentMs != 7*24*hour || !c.Delete || c.Compact ||
		c.MaxMessageBytes != 1048588 || c.CompressionType != "producer" || c.Sync() || c.Writer != "auto" {
		t.Errorf("%+v", c)
	}
}
