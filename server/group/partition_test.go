package group

import "testing"

func TestPartitionOfAGroupIsJavas(t *testing.T) {
	// String.hashCode of each, from Java; the least integer is made 0 by Kafka's Utils.abs.
	for group, hash := range map[string]int32{
		"": 0, "a": 97, "group-0": 293427298, "zurau": 116267787, "ä": 228, "😀": 1772899,
		"polygenelubricants": 0, // its hash is -2147483648
	} {
		if got := PartitionFor(group, 1<<31-1); got != hash {
			t.Errorf("%q: %d, want %d", group, got, hash)
		}
	}
	for group, partition := range map[string]int32{"group-0": 0, "group-1": 1, "group-2": 0, "group-3": 1, "group-4": 0, "real-group": 0} {
		if got := PartitionFor(group, 2); got != partition {
			t.Errorf("%q of 2: %d, want %d, where Kafka has it", group, got, partition)
		}
	}
}

func TestLengthOfMetadataIsJavas(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "ä": 1, "😀": 2} {
		if got := utf16Len(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}
