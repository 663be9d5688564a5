// Package powerloss takes the power away from machines whose logs are being written, and makes disks slow and bad: on ext4
// and XFS, for real. Package rig is the machines, package disk is a disk with a volatile write cache. It is a module of its own,
// for the sake of its dependencies.
//
//	go test ./...                     some losses on each machine
//	ZURAU_LONG=1 go test ./...        100 of them
//	ZURAU_SEED=n go test ./...        those of a run that failed (what the kernel adds to them differs)
//
// It needs root, loop devices, FUSE and mkfs.ext4 and mkfs.xfs, and says so where it does without. Everything is mounted in a namespace of
// its own and gone at its end.
//
// # What a loss is
//
// A process appends to logs of both modes and of all kinds of writers: small and large batches, rolls, truncations, retention, deletions,
// changes of mode. At a random moment the power goes: by the shutdown of the file system (what the page cache has is gone), or at the disk (what
// its write cache has is landed in part: of each sector any version since the last flush, or none). The process is dead before it, never learns
// of it, or gets errors first. Then the machine starts with another boot id, zurau log verify finds nothing that only damage explains, and the next
// process finds
//
//   - what was acknowledged in sync mode, or flushed: all of it, once, byte for byte, in its place;
//   - of what was acknowledged in async mode: all up to some offset, online without help;
//   - nothing that was cut off or deleted.
//
// It goes on with what it found, which must then not be lost any more.
//
// The process may be a broker with its clients, which tell what they were told over the wire: see brokerMain.
//
// What a process tells of the time after the cut does not count: a file system that is being torn down may call a flush done that is not.
//
// # Faults and where they are tested
//
// The rows are faults of a disk, and what is right then. Tests without a package are this one's.
//
//	a loss of the page cache                 TestNothingFlushedIsLostByAPowerLoss/shutdown…, of a broker
//	                                         TestNothingABrokerAcknowledgedIsLostByAPowerLoss
//	a loss of the drive's cache, too: torn,  TestNothingFlushedIsLostByAPowerLoss/cache…; of every call of the engine, in memory:
//	reordered and dropped writes             engine TestACutBeforeAnyDiskCallKeepsWhatWasPromised and others
//	a disk that forgets its cache under      TestADiskThatComesBackUnderTheSameKernelHasLostNothingFlushed
//	a kernel that goes on
//	write or flush fails (EIO)               TestADiskThatFailsToWriteOrFlushTakesItsDirectoryOffline; engine TestAFailedFlushIsFinal
//	the device is full (ENOSPC at flush)     TestADeviceWithoutRoomLosesNothingThatWasAcknowledged
//	what a disk is made of is full,          TestADiskWithoutRoomBelowABrokerTakesItsDirectoryAlone;
//	or has lost its end                      TestADiskThatIsCutOffBelowABrokerTakesItsPartitionsAlone
//	a write that comes back short (EFBIG)    TestAWriteThatTheKernelCutsShortIsNotAcknowledged
//	a read fails (EIO), of mapped indexes    TestADiskThatFailsToReadIsAnErrorAndNoMore;
//	(SIGBUS), too                            engine/index TestAFaultInAMappingIsAnErrorAndTheIndexCanBeBuiltAgain
//	a mapped stage whose disk is gone        engine TestAStageWhoseDiskIsGoneTakesTheDirectoryOfflineAndNotTheProcess
//	a slow disk (10 s without an answer)     TestADiskThatStallsHoldsUpNobodyElse; over the wire TestADiskThatStallsHoldsUpNoClientOfAnotherOne;
//	                                         engine TestAnAppendDoesNotWaitForTheStageToGrow
//	a reflink of what a flush has lost       TestABackupOfADirectoryThatDiedOfItsDiskHasWhatAStartOnItHas
//	a lost rename or name                    engine/fs TestACreatedFileIsLostUntilItsDirectoryIsSynced
//	a deletion that is cut off               engine TestADeletionThatACrashCutsOffIsNotTakenForALostFolder
//	the guard of the machine's own mounts    rig TestOnlyALoopDeviceOfTheRigIsTouched
package powerloss
