import Testing
import WakeModel
import WakePush

@testable import WakeServer

@Suite("The relay's book")
struct RelayBookTests {
    private static let stop = RelayLine.stopped(.apns, .unavailable).text

    private func text(_ speech: RelayBook.Speech) -> [String] {
        String(decoding: speech.lines, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test("gives every wake-up a reference of its own, and its request its outcome")
    func references() {
        var book = RelayBook()
        let first = book.open(wakes: 1_000, due: 10)
        let second = book.open(wakes: 2, due: 10)
        let references = (0..<1_000).map { book.give($0, of: first, to: 1) }
        let others = (0..<2).map { book.give($0, of: second, to: 1) }
        #expect(Set(references + others).count == 1_002)
        book.settle([
            SettledWakeUp(reference: others[1], delivery: .gone),
            SettledWakeUp(reference: references[999], delivery: .accepted),
        ])
        let speeches = book.takeSpeeches()
        #expect(speeches.map(\.request) == [first, second])
        #expect(text(speeches[0]) == [#"{"wake":999,"delivery":"accepted"}"#])
        #expect(text(speeches[1]) == [#"{"wake":1,"delivery":"gone"}"#])
        #expect(book.takeSpeeches().isEmpty)
    }

    @Test("takes no outcome twice, and none for a request that is gone")
    func stray() {
        var book = RelayBook()
        let request = book.open(wakes: 2, due: 10)
        let reference = book.give(0, of: request, to: 1)
        let other = book.give(1, of: request, to: 1)
        let settled = SettledWakeUp(reference: reference, delivery: .accepted)
        #expect(book.settle([settled, settled]) == 1)
        #expect(book.takeSpeeches().count == 1)
        book.close(request)
        #expect(book.settle([SettledWakeUp(reference: other, delivery: .gone)]) == 1)
        #expect(book.isEmpty && book.takeSpeeches().isEmpty)
    }

    @Test("says once for each push service that a round stopped, and settles only its wake-ups")
    func stops() {
        var book = RelayBook()
        let request = book.open(wakes: 4, due: 10)
        _ = (0..<2).map { book.give($0, of: request, to: 1) }
        let left = book.give(2, of: request, to: 2)
        book.withhold(1, of: request, .fcm, RelayLine.stopped(.fcm, .serviceOff).text)
        book.stop(1, .apns, Self.stop)
        book.stop(1, .apns, Self.stop)
        book.settle([SettledWakeUp(reference: left, delivery: .accepted)])
        let speech = book.takeSpeeches()[0]
        #expect(
            text(speech) == [
                #"{"service":"fcm","stopped":"misconfigured","cause":"service-off"}"#,
                #"{"service":"apns","stopped":"unavailable","cause":"unavailable"}"#,
                #"{"wake":2,"delivery":"accepted"}"#, #"{"done":4}"#,
            ])
        #expect(speech.end == RelayBook.Counts(accepted: 1, stopped: 3))
        #expect(book.isEmpty)
    }

    @Test("whatever happens in whatever order, a request ends once, with at most a line a wake-up")
    func property() {
        for seed in UInt64(0)..<60 {
            var random = SeededGenerator(seed)
            var book = RelayBook()
            var out: [Int] = []
            var said: [Int: [String]] = [:]
            var ended: [Int: RelayBook.Counts] = [:]
            var sizes: [Int: Int] = [:]
            var closed: Set<Int> = []
            func listen() {
                for speech in book.takeSpeeches() {
                    #expect(ended[speech.request] == nil && !closed.contains(speech.request))
                    said[speech.request, default: []] += text(speech)
                    ended[speech.request] = speech.end
                }
            }
            for now in UInt64(0)..<200 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<3:
                    let count = Int.random(in: 1...20, using: &random)
                    let request = book.open(wakes: count, due: now + 30)
                    sizes[request] = count
                    let round = Int.random(in: 1...3, using: &random)
                    out += (0..<count).map { book.give($0, of: request, to: round) }
                case 3..<8:
                    out.shuffle(using: &random)
                    let some = out.suffix(15).map {
                        SettledWakeUp(reference: $0, delivery: .accepted)
                    }
                    out.removeLast(some.count)
                    book.settle(some)
                case 8: book.stop(Int.random(in: 1...3, using: &random), .apns, Self.stop)
                default:
                    if let request = sizes.keys.randomElement(using: &random),
                        ended[request] == nil
                    {
                        book.close(request)
                        closed.insert(request)
                    }
                }
                book.expire(now: now)
                if Bool.random(using: &random) { listen() }
            }
            listen()
            book.expire(now: .max)
            listen()
            #expect(book.isEmpty)
            for (request, size) in sizes where !closed.contains(request) {
                let lines = said[request] ?? []
                #expect(lines.last == "{\"done\":\(size)}")
                let wakes = lines.filter { $0.contains("wake") }
                #expect(Set(wakes).count == wakes.count && wakes.count <= size)
                let counts = ended[request] ?? RelayBook.Counts()
                #expect(counts.accepted + counts.retried == wakes.count)
                #expect(wakes.count + counts.stopped == size)
            }
        }
    }
}
