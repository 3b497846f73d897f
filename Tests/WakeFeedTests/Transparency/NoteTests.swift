import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Signed notes, checkpoints and cosignatures (C2SP)")
struct NoteTests {
    /// The example of signed-note.
    private static let note = """
        This is an example message.

        — example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXs\
        YjOBH3mFXmRKuwHjG1Yu72IneyaQM=

        """
    private static let vkey =
        "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
    /// The example of tlog-cosignature.
    private static let cosigned = """
        example.com/behind-the-sofa
        20852163
        CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

        — example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4U\
        RYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
        — witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZ\
        CB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==

        """
    /// The example of tlog-witness.
    private static let request = """
        old 20852014
        PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
        jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
        5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
        /6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

        example.com/behind-the-sofa
        20852163
        CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

        — example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4U\
        RYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
        — example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlC\
        um2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=

        """

    private static func key(_ seed: UInt8) -> SigningKey {
        SigningKey(seed: [UInt8](repeating: seed, count: 32).span)
    }

    @Test("the specification's note and key: verified, written as read, and nothing else verifies")
    func example() throws {
        let bytes = Array(Self.note.utf8)
        let note = try #require(SignedNote(bytes))
        let key = try #require(NoteKey(text: Self.vkey))
        #expect(note.bytes == bytes && key.text == Self.vkey && key.algorithm == .ed25519)
        #expect(try note.verify([key]) == [NoteVerification(time: nil)])
        let changed = SignedNote(
            text: Array("Another message.\n".utf8), signatures: note.signatures)
        #expect(throws: NoteError.badSignature) { try changed.verify([key]) }
        // Another key of that name is unknown, and ignored.
        let other = NoteSigner(name: key.name, key: Self.key(1)).verifier(.ed25519)
        #expect(try note.verify([other]) == [nil])
        #expect(try changed.verify([other]) == [nil])
    }

    @Test("verifier keys that are none")
    func keys() {
        let good = Self.vkey
        for text in [
            "", "example.com/foo", good + "=", good.replacing("530d903a", with: "530d903b"),
            good.replacing("530d903a", with: "530D903A"), good.replacing("/foo", with: "/bar"),
            good.replacing("example.com/foo", with: ""),
            good.replacing("AekyeRrm", with: "AekyeRrn"),
            "exa mple" + good, "\u{2003}" + good, "exa+mple" + good,
        ] { #expect(NoteKey(text: text) == nil, "\(text)") }
        // A key of low order.
        let zero =
            "a+00000000+"
            + String(
                decoding: Base64.encode(([1] + [UInt8](repeating: 0, count: 32)).span),
                as: UTF8.self)
        #expect(NoteKey(text: zero) == nil)
    }

    @Test("notes that are none")
    func malformed() {
        let good = Array(Self.note.utf8)
        #expect(SignedNote(good) != nil)
        func changed(_ from: String, _ to: String) -> [UInt8] {
            Array(Self.note.replacing(from, with: to).utf8)
        }
        let bad: [[UInt8]] = [
            [], [0x0A], [0x0A, 0x0A], Array("text\n\n".utf8), Array(good.dropLast()), good + [0x0A],
            good + [0x20], changed("\n\n", "\n"), changed("— ", "- "), changed("— ", "—"),
            changed("This", "Th\tis"), changed("This", "Th\ris"),
            changed("This", "Th\u{0}is"), changed("aQM=", "aQM"), changed("aQM=", "aQN="),
            changed("foo Uw", "foo  Uw"), changed("foo Uw", "fo+o Uw"),
            changed("example.com/foo", ""),
            changed("foo Uw", "foo\u{A0} Uw"), Array("a\n\n— a AAAAAA==\n".utf8),
            [0xFF] + good, good + Array("— b AAAAAAA=".utf8),
        ]
        for bytes in bad {
            #expect(SignedNote(bytes) == nil, "\(String(decoding: bytes, as: UTF8.self))")
        }
        // Text with empty lines is text.
        let empty = SignedNote(Array("\n\n\na\n\n— b AAAAAAA=\n".utf8))
        #expect(empty?.text == Array("\n\n\na\n".utf8))
        let many = good + Array(repeating: Array("— b AAAAAAA=\n".utf8), count: 99).joined()
        #expect(SignedNote(many) != nil && SignedNote(many + Array("— b AAAAAAA=\n".utf8)) == nil)
    }

    @Test("the specification's cosigned checkpoint, read and written")
    func checkpoint() throws {
        let bytes = Array(Self.cosigned.utf8)
        let signed = try #require(SignedCheckpoint(bytes))
        #expect(signed.bytes == bytes && signed.checkpoint.size == 20_852_163)
        #expect(signed.checkpoint.origin == Array("example.com/behind-the-sofa".utf8))
        #expect(signed.checkpoint.text == signed.note.text && signed.checkpoint.extensions == [])
        let cosignature = try #require(signed.note.signatures.last)
        #expect(cosignature.name.text == "witness.example.com/w1")
        #expect(cosignature.bytes.count == 72)
        #expect(cosignature.bytes.span.bigEndian(at: 0, as: UInt64.self) == 1_679_315_147)
        // The message that the specification prints for this very cosignature.
        #expect(
            Cosignature.message(time: 1_679_315_147, text: signed.note.text)
                == Array(
                    """
                    cosignature/v1
                    time 1679315147
                    example.com/behind-the-sofa
                    20852163
                    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

                    """.utf8))
    }

    @Test("checkpoints that are none")
    func badCheckpoints() {
        let root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="
        func read(_ text: String) -> LogCheckpoint? { LogCheckpoint(text: Array(text.utf8)) }
        #expect(read("a\n0\n\(root)\n")?.size == 0)
        #expect(
            read("a b+\n18446744073709551615\n\(root)\nmore\n")?.extensions == [Array("more".utf8)])
        for text in [
            "", "a\n", "a\n1\n", "\n1\n\(root)\n", "a\n01\n\(root)\n", "a\n+1\n\(root)\n",
            "a\n-1\n\(root)\n", "a\n 1\n\(root)\n", "a\n\n\(root)\n",
            "a\n18446744073709551616\n\(root)\n",
            "a\n1\n\(root)", "a\n1\n\(root)\n\nmore\n", "a\n1\n\(root)\nmore", "a\n1\nAAAA\n",
            "a\n1\n\(root.dropLast())\n",
        ] { #expect(read(text) == nil, "\(text)") }
    }

    @Test("cosignatures: the time is part of what is signed; others' are ignored")
    func cosignatures() throws {
        let log = NoteSigner(name: try #require(NoteKeyName("log.example/1")), key: Self.key(1))
        let witness = NoteSigner(name: try #require(NoteKeyName("w.example/ü")), key: Self.key(2))
        let checkpoint = LogCheckpoint(
            origin: log.name.bytes, size: 3, root: MerkleTree.root(MerkleTests.leaves(3)))
        var signed = SignedCheckpoint(checkpoint, signedBy: log)
        signed.append(witness.cosign(checkpoint.text, time: 1_800_000_000))
        let read = try #require(SignedCheckpoint(signed.bytes))
        #expect(read == signed)
        let keys = [log.verifier(.ed25519), witness.verifier(.cosignature)]
        #expect(try read.note.verify(keys).map { $0?.time } == [.some(nil), 1_800_000_000])
        // The same key as a log's has another ID, and is unknown here.
        #expect(try read.note.verify([witness.verifier(.ed25519)]) == [nil])
        #expect(NoteKey(text: keys[1].text) == keys[1])
        // One second more.
        let line = try #require(read.note.signatures.last)
        var bytes = line.bytes
        bytes[7] ^= 1
        var forged = SignedCheckpoint(checkpoint, signedBy: log)
        forged.append(NoteSignature(name: line.name, keyID: line.keyID, bytes: bytes))
        #expect(throws: NoteError.badSignature) { try forged.note.verify(keys) }
        // Beyond 2^63 - 1, and of another length.
        for bytes in [[UInt8](repeating: 0xFF, count: 72), Array(line.bytes.dropLast()), [0]] {
            var odd = SignedCheckpoint(checkpoint, signedBy: log)
            odd.append(NoteSignature(name: line.name, keyID: line.keyID, bytes: bytes))
            #expect(throws: NoteError.badSignature) { try odd.note.verify(keys) }
        }
        // A response of a witness is the lines alone.
        #expect(NoteSignature.lines(line.line) == [line])
        #expect(NoteSignature.lines([]) == nil && NoteSignature.lines(line.line + [0x0A]) == nil)
    }

    @Test("the specification's request, and bodies that are none")
    func request() throws {
        let bytes = Array(Self.request.utf8)
        let request = try #require(AddCheckpointRequest(bytes))
        #expect(request.bytes == bytes && request.oldSize == 20_852_014 && request.proof.count == 4)
        #expect(request.checkpoint.note.signatures.count == 2)
        for (from, to) in [
            ("old 20852014\n", ""), ("old 2", "old  2"), ("old 2", "old 02"), ("old 2", "Old 2"),
            ("old 20852014\n", "old\n"), ("\n\nexample", "\nexample"), ("Ppkaw=\n", "Ppkaw=\r\n"),
            ("PlRNCrwHpqhG", "PlRNCrwHpqh"), ("DDpkaw=", "DDpkax="),
        ] {
            #expect(
                AddCheckpointRequest(Array(Self.request.replacing(from, with: to).utf8)) == nil
                    || from == "Ppkaw=\n", "\(from)")
        }
        let line = "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n"
        func lines(_ count: Int) -> [UInt8] {
            Array(Self.request.replacing(line, with: String(repeating: line, count: count)).utf8)
        }
        #expect(AddCheckpointRequest(lines(60))?.proof.count == 63)
        #expect(AddCheckpointRequest(lines(61)) == nil)
        #expect(WitnessedSize(Array("20852014\n".utf8))?.size == 20_852_014)
        #expect(WitnessedSize(20_852_014).bytes == Array("20852014\n".utf8))
        for text in ["", "\n", "1", "01\n", "1\n\n", "-1\n"] {
            #expect(WitnessedSize(Array(text.utf8)) == nil)
        }
    }

    @Test("a tlog-proof, with extra data and without, and what is none")
    func proof() throws {
        let leaves = MerkleTests.leaves(6)
        let log = NoteSigner(name: try #require(NoteKeyName("log.example")), key: Self.key(1))
        let signed = SignedCheckpoint(
            LogCheckpoint(origin: log.name.bytes, size: 6, root: MerkleTree.root(leaves)),
            signedBy: log)
        let hashes = try #require(MerkleProofPlan.inclusion(of: 4, in: 6))
            .hashes { MerkleTests.root(of: $0, in: leaves) }
        let proof = LogProof(index: 4, hashes: hashes, checkpoint: signed)
        #expect(LogProof(proof.bytes) == proof && proof.includes(leaves[4]))
        #expect(!proof.includes(leaves[5]))
        let text = String(decoding: proof.bytes, as: UTF8.self)
        #expect(text.hasPrefix("c2sp.org/tlog-proof@v1\nindex 4\n"))
        func read(_ from: String, _ to: String) -> LogProof? {
            LogProof(Array(text.replacing(from, with: to).utf8))
        }
        #expect(read("index", "extra AAAA\nindex")?.extra == [0, 0, 0])
        for (from, to) in [
            ("@v1", "@v2"), ("index 4", "index 04"), ("index 4\n", ""), ("index", "extra A\nindex"),
            ("index", "extra AAAA\nextra AAAA\nindex"), ("index 4", "index -4"),
            ("\n\nlog", "\nlog"),
        ] { #expect(read(from, to) == nil, "\(from)") }
    }
}
