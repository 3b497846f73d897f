import TestSupport
import Testing
import WakeModel

@testable import WakeServer

@Suite("The deletion breaker")
struct DeletionBreakerTests {
    /// One run: `answers` says what the service answers to each row, true for gone.
    private func run(
        _ answers: some Sequence<Bool>, perMille: Int = 50
    ) -> (deleted: [Int], breaker: DeletionBreaker<Int>) {
        var breaker = DeletionBreaker<Int>(perMille: perMille)
        var deleted: [Int] = []
        for (row, isGone) in answers.enumerated() {
            if isGone {
                deleted += breaker.gone(row)
            } else {
                breaker.accepted()
            }
        }
        deleted += breaker.finish()
        #expect(Set(deleted).count == deleted.count)
        return (deleted, breaker)
    }

    @Test("a service that says gone to everything costs no row, however many there are")
    func everythingGone() {
        let sizes = Array(1...2100) + [9999, 10_000, 100_000, 1_000_000]
        for rows in sizes {
            let (deleted, breaker) = run(repeatElement(true, count: rows))
            #expect(deleted.isEmpty)
            #expect(breaker.isTripped == (rows >= 20))
        }
    }

    @Test("it trips at the 51st gone, not before, without waiting for the window's end")
    func trips() {
        var breaker = DeletionBreaker<Int>()
        for row in 0..<50 {
            #expect(breaker.gone(row) == [])
            #expect(!breaker.isTripped)
        }
        #expect(breaker.gone(50) == [])
        #expect(breaker.isTripped)
        #expect(breaker.finish() == [])
    }

    @Test("50 of 1,000 are fine, of 51 one stays, in the first window and in a later one")
    func boundary() {
        for before in [0, 1000, 5000] {
            for place in [0, 400, 949] {
                for gone in [50, 51] {
                    let window = (0..<1000).map { (place..<place + gone).contains($0) }
                    let (deleted, breaker) = run(
                        repeatElement(false, count: before) + window
                            + repeatElement(false, count: 3000))
                    #expect(breaker.isTripped == (gone == 51))
                    #expect(deleted.count == 50)
                }
            }
        }
    }

    @Test("5.0 % throughout is fine, one more is not")
    func exactShare() {
        let fine = (0..<20_000).map { $0 % 20 == 19 }
        #expect(run(fine).deleted.count == 1000)
        var more = fine
        more[10_500] = true
        let (deleted, breaker) = run(more)
        #expect(breaker.isTripped)
        // What was released before its window was closed well; of the last two as many as one.
        #expect(deleted.count { $0 < 9000 } == deleted.count - 50)
    }

    @Test("honest services with 3 % gone, evenly, have all of them deleted, at any number of rows")
    func honest() {
        for rows in Array(34...3100) + [10_000, 54_321, 1_000_000] {
            let answers = (0..<rows).lazy.map { $0 % 100 % 33 == 32 }
            let (deleted, breaker) = run(answers)
            #expect(!breaker.isTripped)
            #expect(deleted.count == answers.count { $0 }, "\(rows) rows")
        }
    }

    @Test("honest services with 1 % gone at random have all of them deleted")
    func honestAtRandom() {
        var random = SplitMix64(seed: 5)
        for _ in 0..<20 {
            let answers = (0..<100_000).map { _ in Int.random(in: 0..<100, using: &random) == 0 }
            let (deleted, breaker) = run(answers)
            #expect(!breaker.isTripped)
            #expect(deleted.count == answers.count { $0 })
        }
    }

    @Test("a service that turns bad within a run costs nothing, or 50 rows at its very end")
    func turnsBad() {
        var random = SplitMix64(seed: 6)
        for _ in 0..<300 {
            let good = Int.random(in: 0...6000, using: &random)
            let bad = Int.random(in: 1...4000, using: &random)
            let (deleted, breaker) = run(
                [Bool](repeating: false, count: good) + repeatElement(true, count: bad))
            #expect(deleted.count <= (bad >= 1000 ? 0 : 50))
            #expect(deleted.isEmpty || !breaker.isTripped)
            if bad >= 1000 { #expect(breaker.isTripped) }
        }
    }

    @Test(
        "whatever the answers: at most 5 % of those counted are deleted, or few of few",
        arguments: [0, 50, 200] as [Int])
    func anyAnswers(_ perMille: Int) {
        var random = SplitMix64(seed: 7)
        for _ in 0..<400 {
            // A few phases, each with a share of its own.
            var answers: [Bool] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let share =
                    Int.random(in: 0...1000, using: &random)
                    / [1, 20, 40, 1000][Int.random(in: 0..<4, using: &random)]
                for _ in 0..<Int.random(in: 0...1500, using: &random) {
                    answers.append(Int.random(in: 0..<1000, using: &random) < share)
                }
            }
            let (deleted, _) = run(answers, perMille: perMille)
            #expect(deleted.allSatisfy { answers[$0] })
            let allowed = answers.count * perMille / 1000
            let few = answers.count < 1000 ? min(perMille, answers.count / 2) : 0
            #expect(deleted.count <= max(allowed, few))
        }
    }

    @Test("few rows: as many as a window may hold, when at least as many were accepted")
    func few() {
        func deleted(gone: Int, accepted: Int, perMille: Int = 50) -> Int {
            let answers =
                [Bool](repeating: true, count: gone) + repeatElement(false, count: accepted)
            return run(answers, perMille: perMille).deleted.count
        }
        #expect(deleted(gone: 1, accepted: 0) == 0)
        #expect(deleted(gone: 1, accepted: 1) == 1)
        #expect(deleted(gone: 2, accepted: 1) == 0)
        #expect(deleted(gone: 20, accepted: 60) == 20)
        #expect(deleted(gone: 50, accepted: 50) == 50)
        #expect(deleted(gone: 51, accepted: 500) == 50)
        #expect(deleted(gone: 51, accepted: 10) == 0)
        #expect(deleted(gone: 30, accepted: 29) == 0)
        #expect(deleted(gone: 1, accepted: 1, perMille: 0) == 0)
    }

    @Test("with fewer than 20 answers nothing is an alarm")
    func tooFewForAnAlarm() {
        #expect(!run([]).breaker.isTripped)
        #expect(!run(repeatElement(true, count: 19)).breaker.isTripped)
        #expect(run(repeatElement(true, count: 20)).breaker.isTripped)
    }

    @Test("nothing is released before the window after its own has closed")
    func holds() {
        var breaker = DeletionBreaker<Int>()
        var released: [Int] = []
        for row in 0..<3000 {
            if row % 100 == 0 {
                released += breaker.gone(row)
                let settled = max(0, row / 1000 - 1) * 1000
                #expect(released == Array(stride(from: 0, to: settled, by: 100)))
            } else {
                breaker.accepted()
            }
        }
    }

    @Test("a breaker that had tripped before a resume stays so")
    func resumed() {
        var breaker = DeletionBreaker<Int>(isTripped: true)
        for row in 0..<6000 {
            breaker.accepted()
            if row % 100 == 0 { #expect(breaker.gone(row) == []) }
        }
        #expect(breaker.finish() == Array(stride(from: 0, to: 5000, by: 100)))
        #expect(breaker.isTripped)
    }

    @Test("a run with 10 to 50 % gone deletes a window's 50, one with more nothing")
    func bounded() {
        for percent in [10, 30, 50, 51, 70, 99] {
            let answers = (0..<10_000).map { $0 * 37 % 100 < percent }
            let (deleted, breaker) = run(answers)
            #expect(breaker.isTripped)
            #expect(deleted.count == (percent <= 50 ? 50 : 0), "\(percent) %")
        }
        #expect(run((0..<10_000).map { $0 % 2 == 0 }, perMille: 0).deleted.isEmpty)
    }

    @Test("with 1,000 per mille it never trips")
    func off() {
        let (deleted, breaker) = run(repeatElement(true, count: 5000), perMille: 1000)
        #expect(deleted == Array(0..<5000))
        #expect(!breaker.isTripped)
    }
}

@Suite("Deletion breakers that trip in run after run")
struct TrippedRunsTests {
    @Test("one that accepts others is believed after two runs, and distrusted again after that")
    func letsGo() {
        var runs = TrippedRuns()
        for _ in 0..<2 {
            #expect(runs.believed.isEmpty)
            runs.record(tripped: [.fcm], accepting: [ServiceSet(.fcm), ServiceSet(.apns)])
        }
        #expect(runs.believed == [.fcm])
        // A run of nothing but Apple's changes nothing for the other.
        runs.record(tripped: [], accepting: ServiceSet(.apns))
        #expect(runs.believed == [.fcm])
        runs.record(tripped: [], accepting: ServiceSet(.fcm))
        #expect(runs.believed.isEmpty)
    }

    @Test("one that accepts nobody is never believed")
    func nobody() {
        var runs = TrippedRuns()
        for _ in 0..<5 { runs.record(tripped: [.apns], accepting: []) }
        runs.record(tripped: [.apns], accepting: ServiceSet(.apns))
        runs.record(tripped: [.apns], accepting: [])
        runs.record(tripped: [.apns], accepting: ServiceSet(.apns))
        #expect(runs.believed.isEmpty)
    }
}
