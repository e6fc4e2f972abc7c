from passus.cli import main

main()
