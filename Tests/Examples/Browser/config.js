// Of your installation: `reveille init` prints the feed's key.
export const config = {
    feed: "https://feed.example.org/feed/",
    feedKey: "FEED_KEY",
    service: "https://wake.example.org/",
};
