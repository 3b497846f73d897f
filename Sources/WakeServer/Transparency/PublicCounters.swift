import WakeModel
import WakeSystem

/// The counts of this service for everybody: the people, with noise that tells of nobody, and what
/// no person moves. What people do is not counted here at all.
struct PublicCounters: Equatable {
    /// Registrations, with the noise of the present generation; nil: no broadcast has counted them.
    var registrations: Int?
    /// Since the start of the service.
    var broadcasts = 0

    subscript(counter: PublicCounter) -> Int? {
        switch counter {
        case .registrations: registrations
        case .broadcasts: broadcasts
        }
    }

    /// One object; what was not counted yet is null.
    func encode() -> [UInt8] {
        var text = JSONText()
        text.beginObject()
        for counter in PublicCounter.allCases {
            text.member(counter.name, raw: self[counter].map(String.init) ?? "null")
        }
        text.member("noise_scale", number: CountNoise.scale)
        text.endObject()
        return text.bytes + [UInt8(ascii: "\n")]
    }
}

extension PublicCounters {
    init(_ rotator: Rotator, _ broadcaster: Broadcaster) {
        self.init(
            registrations: rotator.now.told,
            broadcasts: broadcaster.broadcasts.now)
    }
}

enum PublicCounter: Int, CaseIterable, Sendable {
    case registrations, broadcasts

    var name: StaticString {
        switch self {
        case .registrations: "registrations"
        case .broadcasts: "broadcasts"
        }
    }

    /// Its label on the page.
    var part: PageText.Part {
        switch self {
        case .registrations: .registrations
        case .broadcasts: .broadcasts
        }
    }
}

/// Noise that makes a count of rows differentially private: an integer k has the probability
/// (1 - a)/(1 + a) · a^|k| with a = e^(-1/scale) (Ghosh, Roughgarden and Sundararajan, "Universally
/// Utility-Maximizing Privacy Mechanisms", 2009).
///
/// One row more or less changes the probability of whatever is told, and of whatever follows from
/// it, at most by the factor e^(1/scale). A person has one row, which a broadcast may read twice
/// when it is renewed meanwhile: e^(2/scale), which is at most one in ten between the two.
enum CountNoise {
    static let scale = 10

    static func draw(using random: inout some RandomNumberGenerator) -> Int {
        geometric(&random) - geometric(&random)
    }

    private static func geometric(_ random: inout some RandomNumberGenerator) -> Int {
        var count = 0
        while goesOn(&random) { count += 1 }
        return count
    }

    /// True with a probability of e^(-1/scale), exactly, by integers alone (Canonne, Kamath and
    /// Steinke, "The Discrete Gaussian for Differential Privacy", 2020, algorithm 1).
    private static func goesOn(_ random: inout some RandomNumberGenerator) -> Bool {
        var step = 1
        while Int.random(in: 0..<scale * step, using: &random) == 0 { step += 1 }
        return !step.isMultiple(of: 2)
    }
}
