/* The shortest program: watches a feed until it is ended, and prints what concerns it.
 *
 *   hello FEED KEY SERVICE DIRECTORY
 *
 * cc hello.c -o hello $(pkg-config --cflags --libs reveille)
 */
#include <reveille.h>
#include <stdio.h>
#include <unistd.h>

static int on_match(void *context, const reveille_match *match) {
    (void)context;
    printf("this concerns you: %s %.*s\n", match->secret, (int)match->note_size,
           (const char *)match->note);
    return REVEILLE_DELIVERED;
}

int main(int count, char **words) {
    static const char secret[] = "a secret of this device, the first";
    reveille_callbacks callbacks = {.size = sizeof callbacks, .match = on_match};
    reveille_configuration configuration = {.size = sizeof configuration};
    reveille_client *client;
    int error;

    if (count != 5) return 2;
    configuration.channel = REVEILLE_STREAM;
    configuration.feed = words[1];
    configuration.feed_key = words[2];
    configuration.service = words[3];
    configuration.state_directory = words[4];
    setvbuf(stdout, NULL, _IOLBF, 0);
    error = reveille_open(&configuration, &callbacks, &client);
    if (!error) error = reveille_add_secret(client, "visit", secret, sizeof secret - 1);
    if (!error) error = reveille_start(client);
    if (error) {
        fprintf(stderr, "hello: %s\n", reveille_error_text(error));
        return 1;
    }
    for (;;) pause(); /* or whatever the program does */
}
