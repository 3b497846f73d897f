/// First in, first out, with constant cost for each; memory follows what is in it.
struct FetchLine<Element> {
    private var elements: [Element] = []
    /// Of `elements`, what is gone from the front.
    private var gone = 0
    /// Of the rest, what nobody waits for any more.
    private var dropped = 0

    init() {}

    var isEmpty: Bool { gone == elements.count }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard gone < elements.count else { return nil }
        let first = elements[gone]
        gone += 1
        if gone == elements.count {
            self = FetchLine()
        } else if gone >= 64, gone * 2 >= elements.count {
            elements.removeFirst(gone)
            gone = 0
        }
        return first
    }

    /// One of those in line is no longer wanted. Once they are half of it, only those stay for
    /// which `isWanted` says so.
    mutating func dropped(_ isWanted: (Element) -> Bool) {
        dropped += 1
        guard dropped >= 64, dropped * 2 >= elements.count - gone else { return }
        elements = elements[gone...].filter(isWanted)
        gone = 0
        dropped = 0
    }
}
