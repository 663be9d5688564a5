package house

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A fault is one that people met with a log of this kind, and the tests that it must not come back to (of TestScripts, the script). Where there
// are none, why says what it waits for.
type fault struct {
	id, what string
	tests    []string
	why      string
}

const (
	noCluster     = "one broker is all there is: no replicas"
	noCleaner     = "nothing is compacted here; what Kafka has compacted is read"
	noCoordinator = "there is no transaction coordinator: its requests are not served"
)

// faults are those in which storage has a part: twenty-five reports about logs that speak Kafka's protocol (A), the scenarios of
// Kafka's own history (K), and what disks do (D).
var faults = []fault{
	{"A1", "a damaged or missing index stops the start", []string{"TestDamagedIndexesAreMadeAgain", "TestIndexesWithoutALogFileAreNotTakenOver",
		"TestAnIndexDamagedInItsMiddleIsNoticedByTheLookUp", "TestATransactionIndexThatIsDamagedIsMadeAgainFromTheLog"}, ""},
	{"A2", "a start reads everything again", []string{"TestRecoveryReadsOnlyWhatLiesBeyondTheRecoveryPoint", "TestOneDamagedIndexCostsOneSegment",
		"TestAKillOfManyLogsIsRecoveredSideBySide"}, ""},
	{"A3", "an old mark of an orderly stop is believed", []string{"TestTheMarkOfAnOrderlyStopDoesNotOutliveTheNextStart",
		"TestAFileThatEndsBelowTheRecoveryPointIsCutToItsLastBatch", "TestTheMarkOfAnOrderlyStopIsGoneDurablyOnceItIsRemoved"}, ""},
	{"A4", "handles grow with each start", []string{"TestHandlesDoNotGrowWithStarts", "TestHandlesAndFilesDoNotGrowWithRestarts"}, ""},
	{"A5", "offsets and deletions of groups are lost with a restart", []string{"TestCommittedOffsetsOutliveTheBroker"}, ""},
	{"A6", "a time finds the record before it", []string{"TestTimeLookUpsFindTheFirstRecordFromThenOn", "TestTimeLookUpsAgreeWithAReadOfEverything",
		"TestTheFirstOfEqualTimestampsIsFound", "TestRecordsWithoutTimeAreFoundByNoTime"}, ""},
	{"A7", "the broker's time is not what look-ups and retention go by", []string{"TestLogAppendTimeIsTheBrokersTime",
		"TestRetentionGoesByTheBrokersTimeWhereRecordsHaveIt"}, ""},
	{"A8", "a timestamp of the future keeps a segment for ever, in silence", []string{"TestARecordOfTheFutureStopsTimeRetentionAloud",
		"TestTimestampsOutOfRangeNameEachRecord"}, ""},
	{"A9", "a segment for each record, until there are no files left", []string{"TestRollsByAgeGoByTheTimeOfRecords", "TestManySegmentsNeedFewDescriptors",
		"TestManyLogsDoWithFewDescriptors"}, ""},
	{"A10", "a batch larger than the limit is never read", []string{"TestOffsetsAndTimesAreFoundBelowTheGivenEnd", "TestAnEngineIsWhatListsSayWhateverHappensToIt"}, ""},
	{"A12", "a reader is stuck where compaction left a hole", []string{"TestEveryOffsetOfACompactedLogLeadsToItsEnd",
		"TestEveryRecordThatKafkaStoredReadsAsKafkaServesIt"}, ""},
	{"A14", "a level of isolation sees too much or too little", []string{"TestCommittedRecordsAreReadUpToTheFirstOpenTransaction",
		"TestReadersOfCommittedRecordsNeverSeeAbortedOnes", "TestFetchesSeeWhatTheirIsolationLevelLetsThem"}, ""},
	{"A15", "a producer that paused, or whose records are gone, is refused", []string{"TestProducersAreRememberedAcrossEveryKindOfStart",
		"TestAnIdleProducerIsForgottenAndThenTakenAtAnySequence", "TestMemoryFallsWhenProducersExpire", "TestOfAnUnknownProducerAnySequenceIsAccepted"}, ""},
	{"A16", "a dead producer's transaction is never ended", nil, noCoordinator},
	{"A20", "a small batch unpacks to gigabytes", []string{"TestBombsAreRefusedWithinTheCap", "TestAWrapperBombIsRefusedWithinTheCap"}, ""},
	{"A23", "bad records are stored", []string{"TestWhatKafkaRefusesIsRefusedInKind", "TestACompactedLogNeedsKeys", "TestRecordErrorsAreBounded"}, ""},
	{"A24", "a log that is made again has the old one's records", []string{"TestALogMadeAgainHasNothingOfTheOldOne",
		"TestAStaleHandleDoesNotTouchTheNewLog", "TestReadersFinishWithALogThatIsDeleted"}, ""},

	{"K1", "a replica is truncated to a high watermark that is too low", nil, noCluster},
	{"K2", "two replicas that lost power come back in the other order", []string{"TestLeaderEpochsOfWhatWasTruncatedDoNotComeBackWithACrash"}, ""},
	{"K3", "the end of an epoch that is not known", []string{"TestTheEndOfAnEpochIsTheStartOfTheNextKnownOne",
		"TestAnEpochIsAssignedOnceAndTheHistoryRisesStrictly"}, ""},
	{"K4-K10", "who is in sync, and who may lead", nil, noCluster},
	{"K11", "everything is truncated, and start, high watermark and recovery point part", []string{"TestATruncationBelowTheFirstRecordStartsTheLogThere",
		"TestASnapshotFromBeforeTheFirstRecordIsNotBelieved"}, ""},
	{"K12", "records are deleted up to the middle of a batch", []string{"TestALogStartWithinABatchIsReadWithTheWholeBatch"}, ""},
	{"K13", "a look-up by time while retention runs", []string{"TestALookUpByTimeBesideRetentionStaysWithinTheLog"}, ""},
	{"K14", "a retry is appended again", []string{"TestARetriedBatchIsAnsweredWithTheOriginal", "TestAnyOfTheLastFiveBatchesIsADuplicateWithItsFirstOffsets",
		"TestARetryOfAnyBatchInFlightIsKnownAfterAKillBehindARoll", "TestSequencesGoOnAtZeroAfterTheLargest"}, ""},
	{"K15", "producers' states expire too early, or are lost with records", []string{"TestProducersExpireByTheirLastTimestampUnlessATransactionIsOpen",
		"TestHowLongAnIdleProducerIsRememberedChangesWhileTheEngineRuns", "TestRetentionKeepsProducersOfRecordsThatAStartPutIntoSegments"}, ""},
	{"K16", "a zombie writes on", []string{"TestEpochsOfAProducerOnlyRise", "TestMarkersOfZombiesAreRefusedByTheLog"}, ""},
	{"K17-K20", "hanging transactions, late ends, epochs that run out, coordinators that die", nil, noCoordinator},
	{"K21", "aborted records are read after a roll, a kill or a truncation", []string{"TestAnOpenTransactionAndWhatWasAbortedOutliveEveryKindOfStart",
		"TestATruncationTakesMarkersBack", "TestWhatTransactionsAreOpenAndAbortedIsKnownAfterACutAtAnyDiskCall",
		"TestALogOfTransactionsIsWhatAListSaysWhateverHappensToIt"}, ""},
	{"K22", "offsets of a transaction that is pending", nil, noCoordinator},
	{"K23", "tombstones go too early", nil, noCleaner},
	{"K24", "a crash while segments are replaced, and offsets that do not fit an index", []string{"TestSegmentsThatKafkaWasReplacingAreReplacedAsKafkaDoes",
		"TestSegmentsRollWhenOffsetsWouldNotFitTheIndex", "TestACrashWhileSegmentsAreReplacedLosesNone"}, ""},
	{"K25", "offsets of a group expire while it has members or rebalances, or its load is taken for no offset", []string{"TestScripts/expiry",
		"TestScripts/expiry_members", "TestLoadSurvivesAnyOrderThatCompactionLeaves", "TestWhoIsNotReadySaysSo"}, ""},
	{"K26", "two processes with one group.instance.id", []string{"TestScripts/static", "TestFranzCooperativeAndStaticMembersKeepWhatTheyHave"}, ""},
	{"K27", "a commit of an old generation, a member that dies between its join and its sync", []string{"TestScripts/offsets", "TestScripts/rebalance"}, ""},
	{"K28", "an index or snapshot that is missing, longer or garbage", []string{"TestDamagedIndexesAreMadeAgain", "TestASnapshotThatIsGarbageIsRemoved",
		"TestSmallFilesThatAreMissingStaleOrGarbageCostNothing"}, ""},
	{"K29", "a file of leader epochs that is garbage", []string{"TestSmallFilesThatAreMissingStaleOrGarbageCostNothing",
		"TestLeaderEpochsOutliveKillsWithoutACheckpoint"}, ""},
	{"K30", "a recovery point that is stale, ahead, or of other files", []string{"TestARecoveryPointAheadOfTheLogIsClamped",
		"TestARecoveryPointInsideABatchIsOfOtherFiles", "TestALogThatWasPutIntoACleanDirectoryIsChecked"}, ""},
	{"K31", "a topic of the same name is another one", []string{"TestALogMadeAgainHasNothingOfTheOldOne", "TestAnotherTopicsRecordsAreNotRedone"}, ""},
	{"K32", "whoever leads the metadata goes on after a write that failed", []string{"TestAfterAFailedFlushNothingIsTakenAndTheReasonIsTold",
		"TestAFailedCallIsFinalAndLosesNothingAcknowledged", "TestTheBrokerEndsWithTheDirectoryOfItsMetadata"}, ""},
	{"K33", "a cleaner's offset beyond the log", nil, noCleaner},
	{"K34", "a kill at each step of a roll", []string{"TestACutBeforeAnyDiskCallKeepsWhatWasPromised", "TestEachDiskCallThatFailsOnceCostsNothingThatWasPromised"}, ""},
	{"K35", "a clock that jumps", []string{"TestAClockThatGoesBackDeletesAndForgetsNothing", "TestRetentionByTimeGoesByTheNewestRecordOfASegment"}, ""},

	{"D1", "a flush fails", []string{"TestAFailedFlushIsFinal", "TestAFlushThatWaitedBehindAFailedOneIsNotTried"}, ""},
	{"D2", "a write comes back short", []string{"TestAWriteOverTheSizeLimitFailsAndLeavesAPrefix", "TestEachDiskCallThatFailsOnceCostsNothingThatWasPromised"}, ""},
	{"D3", "the disk is full", []string{"TestAFullDiskRefusesAndFreedSpaceIsUsable", "TestAFullDiskRefusesAppendsAndNothingElse",
		"TestADiskWithoutRoomBelowABrokerTakesItsDirectoryAlone"}, ""},
	{"D4", "a read fails", []string{"TestAnUnreadableLogIsOfflineAndOthersAreNot", "TestAFaultInAMappingIsAnErrorAndTheIndexCanBeBuiltAgain",
		"TestADiskThatIsCutOffBelowABrokerTakesItsPartitionsAlone"}, ""},
	{"D5", "a bit of a stored batch flips", []string{"TestABadBatchBelowTheRecoveryPointIsCorruption", "TestAFlippedBitInWhatWasFlushedIsNoTornWrite",
		"TestARottenBatchIsNotYielded"}, ""},
	{"D6", "a write is torn", []string{"TestATornTailIsCutAndKeptAside", "TestATornWriteIsCutBehindWhatIsGuarded"}, ""},
	{"D7", "a name that was not flushed is lost", []string{"TestTheCrashCheckFindsPlantedBugs", "TestARenamedFileHasTheOldNameOrTheNew",
		"TestAnAtomicReplaceLeavesTheOldFileOrTheNew"}, ""},
	{"D8", "a checkpoint is stale or torn", []string{"TestAfterAPowerFailureACheckpointIsTheOldOneOrTheNewOne", "TestCorruptFilesAreRefusedByFileAndLine"}, ""},
	{"D9", "sectors land in any order", []string{"TestVersionsOfABlockLandInAnyOrderAndBlocksInAny", "TestManyClientsLoseNothingInACutAtAnyMoment",
		"TestNothingFlushedIsLostByAPowerLoss", "TestNothingABrokerAcknowledgedIsLostByAPowerLoss"}, ""},
	{"D10", "a disk is slow", []string{"TestReadersDoNotWaitForAWriterThatOpensItsFile", "TestMemoryIsBoundedAndReadyCallsWhenThereIsRoom",
		"TestADiskThatStallsHoldsUpNobodyElse", "TestADiskThatStallsHoldsUpNoClientOfAnotherOne", "TestADiskThatHangsHoldsUpNoChangesOfOthers"}, ""},
}

func TestEachFaultHasATestOrAReason(t *testing.T) {
	there := functions(t)
	seen := map[string]bool{}
	for _, f := range faults {
		if seen[f.id] || (len(f.tests) == 0) == (f.why == "") {
			t.Errorf("%s, %s: listed twice, or neither tests nor a reason, or both", f.id, f.what)
		}
		seen[f.id] = true
		for _, name := range f.tests {
			name, script, scripted := strings.Cut(name, "/")
			if _, err := os.Stat("../../server/group/testdata/scripts/" + script); scripted && err != nil {
				t.Errorf("%s, %s: %v", f.id, f.what, err)
			}
			if !there[name] {
				t.Errorf("%s, %s: there is no %s", f.id, f.what, name)
			}
		}
	}
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 20, 23, 24} {
		if id := fmt.Sprint("A", n); !seen[id] {
			t.Errorf("fault %s is not in the table", id)
		}
	}
}
