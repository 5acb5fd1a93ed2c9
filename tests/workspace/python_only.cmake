# Only Python's tests use the stand-ins: they get C's code and its type supports, of which Python's is made, but nothing
# for C++, which would take most of the time.
list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX
  "^rosidl_(generator_cpp|typesupport_cpp|typesupport_fastrtps_cpp|typesupport_introspection_cpp):")
