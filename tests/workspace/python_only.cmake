# Only Python's tests use the stand-ins: they get C's code and its Fast DDS support, without which Python has none, and
# neither C++'s nor the introspection's, which would take most of the time.
list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX
  "^rosidl_(generator_cpp|typesupport_cpp|typesupport_fastrtps_cpp|typesupport_introspection_c|typesupport_introspection_cpp):")
set(ENV{STATIC_ROSIDL_TYPESUPPORT_C} rosidl_typesupport_fastrtps_c)
