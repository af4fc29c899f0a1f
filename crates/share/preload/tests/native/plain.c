/* Reads a file by small calls and ends: what any program does. plain FILE. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char block[4096];
    unsigned long sum = 0;
    if (argc != 2) return 2;
    int fd = open(argv[1], O_RDONLY);
    if (fd < 0) return 1;
    for (ssize_t n; (n = read(fd, block, sizeof block)) > 0;)
        for (ssize_t i = 0; i < n; i++) sum += (unsigned char)block[i];
    printf("%lu\n", sum);
    return 0;
}
