import TestSupport
import Testing
import WakeSystem

@Suite("Deque and slot map")
struct CollectionTests {
    @Test("a deque is an array that is taken from in front", arguments: [1, 2, 3])
    func deque(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var deque = Deque<Int>()
        var model: [Int] = []
        for step in 0..<5000 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<11:
                deque.append(step)
                model.append(step)
            case 11..<18:
                #expect(deque.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            case 18:
                deque.append(contentsOf: [step, -step])
                model += [step, -step]
            default:
                deque.filter { $0 % 7 != 0 }
                model.removeAll { $0 % 7 == 0 }
            }
            #expect(deque.count == model.count && deque.first == model.first)
        }
        deque.removeAll()
        let none = deque.popFirst()
        #expect(deque.isEmpty && none == nil)
    }

    @Test("a key of a removed value is never valid again")
    func slotMap() {
        var map = SlotMap<Int>()
        let first = map.insert { _ in 1 }
        let second = map.insert { $0.slot }
        #expect(map[first] == 1 && map[second] == second.slot && map.keys == [first, second])
        let (removed, again) = (map.remove(first), map.remove(first))
        #expect(removed == 1 && again == nil && map[first] == nil)
        let third = map.insert { _ in 3 }
        #expect(third.slot == first.slot && third != first && map.key(inSlot: 0) == third)
        map[first] = 9
        #expect(map[third] == 3 && map[first] == nil && map.count == 2)
        map[third] = 4
        #expect(map[third] == 4)
        map[third] = nil
        #expect(map.count == 1 && map.key(inSlot: 0) == nil && map.key(inSlot: 7) == nil)
    }
}
