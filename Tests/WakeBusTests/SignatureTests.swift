import Testing

@testable import WakeBus
