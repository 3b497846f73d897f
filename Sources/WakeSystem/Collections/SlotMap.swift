/// Values under keys that are never valid again after removal; every operation is constant-time.
@usableFromInline
package struct SlotMap<Value> {
    /// A slot number and the slot's generation, in 8 bytes.
    @usableFromInline
    package struct Key: Sendable, Hashable {
        @usableFromInline let slotNumber: UInt32
        @usableFromInline package let generation: UInt32

        @inlinable package init(slot: Int, generation: UInt32) {
            slotNumber = UInt32(slot)
            self.generation = generation
        }

        @inlinable package init(rawValue: UInt64) {
            slotNumber = UInt32(truncatingIfNeeded: rawValue)
            generation = UInt32(truncatingIfNeeded: rawValue >> 32)
        }

        @inlinable package var slot: Int { Int(slotNumber) }
        /// The slot in the low 32 bits, the generation above; the highest bit is 0.
        @inlinable package var rawValue: UInt64 { UInt64(generation) << 32 | UInt64(slotNumber) }
    }

    @usableFromInline var values: [Value?] = []
    @usableFromInline var generations: [UInt32] = []
    @usableFromInline var free: [Int] = []

    @inlinable package init() {}

    @inlinable package var count: Int { values.count - free.count }

    @inlinable package subscript(key: Key) -> Value? {
        get {
            guard key.slot < values.count, generations[key.slot] == key.generation
            else { return nil }
            return values[key.slot]
        }
        set {
            guard key.slot < values.count, generations[key.slot] == key.generation,
                values[key.slot] != nil
            else { return }
            guard newValue != nil else { return _ = remove(key) }
            values[key.slot] = newValue
        }
    }

    /// The key of the value in a slot; nil when it is free.
    @inlinable package func key(inSlot slot: Int) -> Key? {
        guard slot < values.count, values[slot] != nil else { return nil }
        return Key(slot: slot, generation: generations[slot])
    }

    @inlinable package var keys: [Key] { values.indices.compactMap(key(inSlot:)) }

    /// The key that the next insertion gives.
    @inlinable package var nextKey: Key {
        let slot = free.last ?? values.count
        return Key(slot: slot, generation: slot < values.count ? generations[slot] : 0)
    }

    /// Inserts the value that `make` returns for its key.
    @inlinable package mutating func insert(_ make: (Key) -> Value) -> Key {
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
        } else {
            slot = values.count
            values.append(nil)
            generations.append(0)
        }
        let key = Key(slot: slot, generation: generations[slot])
        values[slot] = make(key)
        return key
    }

    @discardableResult @inlinable package mutating func remove(_ key: Key) -> Value? {
        guard key.slot < values.count, generations[key.slot] == key.generation,
            let value = values[key.slot].take()
        else { return nil }
        // The highest bit stays free for the owner of the key.
        generations[key.slot] = (generations[key.slot] &+ 1) & 0x7FFF_FFFF
        free.append(key.slot)
        return value
    }
}

extension SlotMap: Sendable where Value: Sendable {}
