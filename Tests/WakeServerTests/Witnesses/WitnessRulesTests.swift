import Testing
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

@testable import WakeServer

/// The statuses of C2SP tlog-witness, `add-checkpoint`, each with the sentence that asks for it.
@Suite("The rules of a witness")
struct WitnessRulesTests {
    private let log = SampleLog().grown(to: 40)

    private func judge(_ body: [UInt8], seen size: Int = 10, of history: SampleLog? = nil)
        -> WitnessVerdict
    {
        let log = log
        let known = WitnessedLog(origin: log.origin, keys: [log.key])
        let latest =
            size == 0
            ? CosignedCheckpoint(origin: log.origin)
            : CosignedCheckpoint(
                (history ?? log).checkpoint(size), time: 1,
                note: SignedCheckpoint((history ?? log).checkpoint(size), signedBy: log.signer).note
            )
        return WitnessRules.judge(
            body, log: { $0 == known.origin ? known : nil },
            latest: { $0 == known.origin ? latest : nil })
    }

    private func isConsistent(_ verdict: WitnessVerdict) -> Bool {
        if case .consistent = verdict { true } else { false }
    }

    @Test("every checkpoint of a log is consistent with every one before it")
    func consistent() {
        for old in 0...20 {
            for size in old...24 {
                #expect(isConsistent(judge(log.request(from: old, to: size), seen: old)))
            }
        }
    }

    @Test("400: what is no request, and an old size above the checkpoint's, whatever it is")
    func malformed() {
        let right = log.request(from: 10)
        #expect(judge([]) == .malformed)
        #expect(judge(Array(right.dropLast())) == .malformed)
        #expect(judge(Array(right.dropFirst())) == .malformed)
        let text = String(decoding: right, as: UTF8.self)
        for (from, to) in [
            ("old 10", "old 010"), ("old 10", "old  10"), ("old 10", "old +10"), ("old ", "Old "),
            ("old 10\n", "old 10\r\n"), ("\n40\n", "\n040\n"), ("=\n", "\n"),
            ("old 10", "old 18446744073709551616"),
        ] {
            let broken = text.replacing(from, with: to, maxReplacements: 1)
            #expect(broken != text)
            #expect(judge(Array(broken.utf8)) == .malformed, "\(to)")
        }
        let hash = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
        let hashes = String(repeating: hash, count: 64)
        let tooLong = text.replacing("old 10\n", with: "old 10\n" + hashes, maxReplacements: 1)
        #expect(judge(Array(tooLong.utf8)) == .malformed)
        #expect(judge(log.request(from: 11, to: 10, proof: [])) == .malformed)
        #expect(judge(log.request(from: 30, to: 20, proof: [])) == .malformed)
    }

    @Test("404: an origin that is not known, before its signature is looked at")
    func unknown() {
        let other = SampleLog("log.example/b").grown(to: 40)
        #expect(judge(other.request(from: 10)) == .unknownOrigin)
    }

    @Test("403: no signature of a known key, or one under its name and ID that is not")
    func notSigned() {
        let thief = SampleLog(seed: 9).grown(to: 40)
        #expect(judge(log.request(from: 10, signer: thief.signer)) == .notSigned)
        // The right name and ID over another text.
        let other = SignedCheckpoint(log.checkpoint(39), signedBy: log.signer).note.signatures[0]
        let forged = SignedNote(text: log.checkpoint(40).text, signatures: [other])
        let proof = log.consistency(from: 10, to: 40)
        func body(_ note: SignedNote) -> [UInt8] {
            SignedCheckpoint(note.bytes).map {
                AddCheckpointRequest(oldSize: 10, proof: proof, checkpoint: $0).bytes
            } ?? []
        }
        #expect(judge(body(forged)) == .notSigned)
        // Behind it the right one does not help: such a note is malformed (C2SP signed-note).
        let right = log.signer.sign(log.checkpoint(40).text)
        var both = forged
        both.append(right)
        #expect(judge(body(both)) == .notSigned)
        // An unknown key's is ignored.
        var more = SignedNote(
            text: log.checkpoint(40).text, signatures: [thief.signer.sign([0x0A])])
        more.append(right)
        guard case .consistent(_, let kept) = judge(body(more)) else {
            Issue.record("an unknown signature spoilt the note")
            return
        }
        #expect(kept.signatures == [right])
    }

    @Test("409 with the size that was cosigned last, also to the old size zero")
    func conflict() {
        for old in [0, 1, 9, 11, 40] {
            #expect(judge(log.request(from: old)) == .conflict(size: 10))
        }
        #expect(judge(log.request(from: 10), seen: 0) == .conflict(size: 0))
    }

    @Test("422: a proof that does not show it, one too many, another root of the same size")
    func inconsistent() throws {
        let proof = log.consistency(from: 10, to: 40)
        #expect(judge(log.request(from: 10, proof: [])) == .inconsistent)
        #expect(judge(log.request(from: 10, proof: proof + [proof[0]])) == .inconsistent)
        #expect(judge(log.request(from: 10, proof: proof.reversed())) == .inconsistent)
        #expect(judge(log.request(from: 10, proof: Array(proof.dropLast()))) == .inconsistent)
        for index in proof.indices {
            var wrong = proof
            wrong[index] = MerkleTree.leaf([7].span)
            #expect(judge(log.request(from: 10, proof: wrong)) == .inconsistent)
        }
        // From nothing, no proof is needed, and none may be there.
        #expect(judge(log.request(from: 0, proof: proof), seen: 0) == .inconsistent)
        // Another history, with the best proof that its owner has.
        let fork = SampleLog().grown(to: 5).grown(to: 40, history: 1)
        #expect(judge(fork.request(from: 10)) == .inconsistent)
        #expect(judge(fork.request(from: 10, to: 10)) == .forked)
        #expect(judge(log.request(from: 10, to: 10, proof: proof)) == .inconsistent)
        // The empty tree has one root.
        let empty = LogCheckpoint(
            origin: log.origin, size: 0, root: MerkleTree.leaf([7].span))
        let request = AddCheckpointRequest(
            oldSize: 0, proof: [], checkpoint: SignedCheckpoint(empty, signedBy: log.signer))
        #expect(judge(request.bytes, seen: 0) == .inconsistent)
        #expect(isConsistent(judge(log.request(from: 0, to: 0), seen: 0)))
    }

    @Test("the request of the specification's text is one, and its log's key verifies it")
    func example() throws {
        let text = """
            old 20852014
            PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
            jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
            5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
            /6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

            example.com/behind-the-sofa
            20852163
            CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

            — example.com/behind-the-sofa \
            Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoR\
            De4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
            — example.com/behind-the-sofa \
            opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlc\
            VGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=

            """
        let body = Array(text.utf8)
        let request = try #require(AddCheckpointRequest(body))
        #expect(request.oldSize == 20_852_014 && request.proof.count == 4)
        #expect(request.checkpoint.checkpoint.size == 20_852_163)
        #expect(request.bytes == body)
        // Its log's keys are not published: with others it is refused, and without any not known.
        let origin = Array("example.com/behind-the-sofa".utf8)
        let known = WitnessedLog(
            origin: origin, keys: [SampleLog("example.com/behind-the-sofa").key])
        let verdict = WitnessRules.judge(
            body, log: { _ in known }, latest: { CosignedCheckpoint(origin: $0) })
        #expect(verdict == .notSigned)
        #expect(
            WitnessRules.judge(body, log: { _ in nil }, latest: { _ in nil }) == .unknownOrigin)
    }
}
